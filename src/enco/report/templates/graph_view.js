// The drawing: variables as boxes, edges as curves, and what is highlighted or hidden.
const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, text = null) => make(tag, attributes, text, SVG);
const HALF_HEIGHT = 13;
const LONGEST_LABEL = 13;
const CROWDED = 120; // edges beyond which each is drawn fainter
const FAR = 0.42; // scale below which names cannot be read
const STEPS = [0.5, 0.7, 0.9, 0.95]; // where an edge gets the next darker colour

const halfWidth = names.map((name) => Math.max(17, 4 * Array.from(shortened(name)).length + 8));
const ACROSS = 2 * Math.max(...halfWidth) + 18; // pixels between neighbours in a row
// A dense graph is one long chain with shortcuts: there is much room beside it, and it needs all of it.
const TOWER = 3 * span(content.x) < span(content.y) && !edges.bends.some((points) => points.length);
const DOWN = rowDistance(); // and between rows

const view = byId("view");
const scene = svg("g", {});
const place = names.map((_, variable) => ({ x: content.x[variable] * ACROSS, y: content.y[variable] * DOWN }));
const crowding = Math.min(1, Math.sqrt(CROWDED / Math.max(1, edgeCount)));
const bends = edges.bends.map((points) => points.map(([x, y]) => ({ x: x * ACROSS, y: y * DOWN })));
const camera = { x: 0, y: 0, scale: 1 };

// Rows apart enough for the drawing to be about as high as its frame, but never crowded or torn.
function rowDistance() {
  const across = [...content.x, ...edges.bends.flat().map(([x]) => x)];
  return Math.min(150, Math.max(TOWER ? 44 : 66, (0.68 * ACROSS * span(across)) / span(content.y)));
}

function span(values) {
  return Math.max(...values) - Math.min(...values) + 1;
}

function shortened(name) {
  const letters = Array.from(name);
  return letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}\u2026` : name;
}

// Through all points with vertical tangents, so that the pieces join smoothly.
function curve(points) {
  let path = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
  for (let at = 1; at < points.length; at += 1) {
    const [from, to] = [points[at - 1], points[at]];
    const middle = ((from.y + to.y) / 2).toFixed(1);
    path += `C${from.x.toFixed(1)} ${middle} ${to.x.toFixed(1)} ${middle} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`;
  }
  return path;
}

function edgePath(edge) {
  const [from, to] = [place[edges.cause[edge]], place[edges.effect[edge]]];
  const side = to.y >= from.y ? 1 : -1; // an edge of the true graph may point upwards
  const start = { x: from.x, y: from.y + side * HALF_HEIGHT };
  const end = { x: to.x, y: to.y - side * (HALF_HEIGHT + 2) };
  if (to.y === from.y) {
    const sag = from.y + 2 * HALF_HEIGHT + 12;
    return `M${from.x} ${from.y + HALF_HEIGHT}C${from.x} ${sag} ${to.x} ${sag} ${to.x} ${to.y + HALF_HEIGHT + 2}`;
  }
  const rows = Math.abs(to.y - from.y) / DOWN;
  if (bends[edge].length || rows <= 1) return curve([start, ...bends[edge], end]);
  // Past the rows in between rather than through them, the further the more.
  const wish = TOWER ? 0.5 * (to.y - from.y) : 0.35 * ACROSS * Math.sqrt(rows) - Math.abs(to.x - from.x) / 2;
  const aside = Math.max(0, wish) * (edge % 2 ? 1 : -1);
  const [high, low] = [(2 * start.y + end.y) / 3, (start.y + 2 * end.y) / 3].map((y) => y.toFixed(1));
  const [left, right] = [start.x + aside, end.x + aside].map((x) => x.toFixed(1));
  return `M${start.x.toFixed(1)} ${start.y.toFixed(1)}C${left} ${high} ${right} ${low} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
}

function confounderPath([one, other]) {
  const [from, to] = [place[one], place[other]];
  const lift = Math.min(from.y, to.y) - 40;
  return `M${from.x} ${from.y - HALF_HEIGHT - 2}C${from.x} ${lift} ${to.x} ${lift} ${to.x} ${to.y - HALF_HEIGHT - 2}`;
}

function arrowTip(name) {
  const tip = svg("marker", {
    id: name, viewBox: "0 0 10 10", refX: 8.5, refY: 5, markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse",
    markerUnits: "userSpaceOnUse",
  });
  tip.append(svg("path", { d: "M0 1L10 5L0 9z" }));
  return tip;
}

const edgeShapes = [];
const confounderShapes = [];
const nodeShapes = [];

function build() {
  const tips = svg("defs", {});
  tips.append(...["-0", "-1", "-2", "-3", "-4", "-false", "-missed", "-confounder", "-ancestor", "-descendant"].map((kind) => arrowTip(`tip${kind}`)));
  const edgeLayer = svg("g", {});
  for (let edge = 0; edge < edgeCount; edge += 1) {
    const shape = svg("path", { class: `edge ${edges.status[edge]}`, d: edgePath(edge) });
    const often = content.refits ? `, frequency ${edges.frequency[edge].toFixed(2)}` : "";
    const label = `${names[edges.cause[edge]]} \u2192 ${names[edges.effect[edge]]}, probability ${edges.probability[edge].toFixed(3)}${often}`;
    shape.append(svg("title", {}, label));
    edgeShapes.push(shape);
    edgeLayer.append(shape);
  }
  for (const pair of content.confounders) {
    const shape = svg("path", { class: "edge confounder", d: confounderPath(pair), "stroke-width": 1.6 });
    shape.append(svg("title", {}, `${names[pair[0]]} \u2194 ${names[pair[1]]}, confounder score ${pair[2].toFixed(3)}`));
    confounderShapes.push(shape);
    edgeLayer.append(shape);
  }
  const nodeLayer = svg("g", {});
  names.forEach((name, variable) => {
    const node = svg("g", { class: "node", "data-variable": variable });
    node.append(
      svg("title", {}, name),
      svg("rect", { x: -halfWidth[variable], y: -HALF_HEIGHT, width: 2 * halfWidth[variable], height: 2 * HALF_HEIGHT, rx: 8 }),
      svg("text", {}, shortened(name)),
    );
    nodeShapes.push(node);
    nodeLayer.append(node);
    moveNode(variable);
  });
  scene.append(edgeLayer, nodeLayer);
  view.append(tips, scene);
  buildScale();
  paintEdges();
}

const NUMBERS = { probability: "probability", frequency: "frequency over refits" };
const stepOf = (value) => STEPS.filter((least) => value >= least).length;
const lineWidth = (value) => 0.9 + 1.3 * value;

// Colour, width and opacity of edges, by the number that was chosen.
function paintEdges() {
  edgeShapes.forEach((shape, edge) => {
    const value = strength(edge);
    shape.dataset.step = stepOf(value);
    shape.setAttribute("stroke-width", (lineWidth(value) * Math.max(0.6, crowding)).toFixed(2));
    shape.setAttribute("opacity", (missed(edge) ? 0.8 : crowding * (0.6 + 0.35 * value)).toFixed(2));
  });
  for (const word of document.querySelectorAll(".by")) word.textContent = NUMBERS[state.by];
}

function buildScale() {
  const words = [`below ${STEPS[0]}`, ...STEPS.map((least, step) => (STEPS[step + 1] ? `${least} to ${STEPS[step + 1]}` : `${least} and more`))];
  const middle = [0, ...STEPS];
  document.querySelector(".steps").append(...words.map((text, step) => {
    const item = make("span", {});
    const line = svg("svg", { width: 26, height: 8 });
    line.append(svg("path", { d: "M1 4H25", class: "edge plain", "data-step": step, "stroke-width": lineWidth(middle[step]) }));
    item.append(line, text);
    return item;
  }));
}

function moveNode(variable) {
  nodeShapes[variable].setAttribute("transform", `translate(${place[variable].x.toFixed(1)} ${place[variable].y.toFixed(1)})`);
}

function moveEdges(variable) {
  for (const edge of [...into[variable], ...outOf[variable]]) edgeShapes[edge].setAttribute("d", edgePath(edge));
  content.confounders.forEach((pair, at) => {
    if (pair[0] === variable || pair[1] === variable) confounderShapes[at].setAttribute("d", confounderPath(pair));
  });
}

function look() {
  scene.setAttribute("transform", `translate(${camera.x.toFixed(2)} ${camera.y.toFixed(2)}) scale(${camera.scale.toFixed(4)})`);
  view.classList.toggle("far", camera.scale < FAR);
}

// Show these points, everything by default, as large as they fit, but not larger than life.
function fitTo(points = [...place, ...bends.flat()]) {
  const { width, height } = view.getBoundingClientRect();
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const [left, right] = [Math.min(...xs) - 70, Math.max(...xs) + 70];
  const [top, bottom] = [Math.min(...ys) - 34, Math.max(...ys) + 34];
  camera.scale = Math.min(1.5, width / (right - left), height / (bottom - top));
  camera.x = width / 2 - (camera.scale * (left + right)) / 2;
  camera.y = height / 2 - (camera.scale * (top + bottom)) / 2;
  look();
}

function zoom(factor, x = view.clientWidth / 2, y = view.clientHeight / 2) {
  const scale = Math.min(4, Math.max(0.02, camera.scale * factor));
  camera.x = x - ((x - camera.x) * scale) / camera.scale;
  camera.y = y - ((y - camera.y) * scale) / camera.scale;
  camera.scale = scale;
  look();
}

const onScreen = ({ x, y }) => {
  const [left, top] = [camera.x + camera.scale * x, camera.y + camera.scale * y];
  return left > 20 && top > 10 && left < view.clientWidth - 20 && top < view.clientHeight - 10;
};

// Bring a variable and its neighbours into view; where names can be read already, move only if it is not seen.
function approach(variable) {
  if (camera.scale >= FAR) {
    if (!onScreen(place[variable])) centre(variable);
    return;
  }
  const around = [...into[variable].map((edge) => edges.cause[edge]), ...outOf[variable].map((edge) => edges.effect[edge])];
  fitTo([variable, ...around].map((one) => place[one]));
  if (camera.scale < FAR) centre(variable);
}

function centre(variable) {
  camera.scale = Math.max(camera.scale, 0.6);
  camera.x = view.clientWidth / 2 - camera.scale * place[variable].x;
  camera.y = view.clientHeight / 2 - camera.scale * place[variable].y;
  look();
}

function showEdges() {
  edgeShapes.forEach((shape, edge) => shape.classList.toggle("off", !visible(edge)));
  confounderShapes.forEach((shape) => shape.classList.toggle("off", !state.showConfounders));
}

function highlight() {
  const { chosen } = state;
  const nothing = { variables: new Set(), edges: new Set() };
  const up = chosen === null ? nothing : reachable(chosen, true);
  const down = chosen === null ? nothing : reachable(chosen, false);
  nodeShapes.forEach((shape, variable) => {
    shape.classList.toggle("ancestor", up.variables.has(variable));
    shape.classList.toggle("descendant", down.variables.has(variable));
    shape.classList.toggle("chosen", variable === chosen);
  });
  edgeShapes.forEach((shape, edge) => {
    shape.classList.toggle("ancestor", up.edges.has(edge));
    shape.classList.toggle("descendant", down.edges.has(edge));
  });
  view.classList.toggle("focused", chosen !== null);
  describe(up, down);
}

function neighbourList(heading, list, end) {
  if (!list.length) return [];
  const items = make("ul");
  for (const edge of list) {
    const item = make("li");
    item.append(variableLink(edges[end][edge]), make("span", {}, strength(edge).toFixed(2)));
    items.append(item);
  }
  return [make("h4", {}, `${heading} (${list.length})`), items];
}

function variableLink(variable) {
  const link = make("button", { type: "button", class: "link" }, names[variable]);
  link.addEventListener("click", () => choose(variable));
  return link;
}

function describe(up, down) {
  const panel = byId("details");
  const { chosen } = state;
  if (chosen === null) {
    panel.replaceChildren(make("p", { class: "note" }, "Choose a variable: click it, or find it by name."));
    return;
  }
  const shown = (edge) => !missed(edge) && visible(edge);
  const surest = (one, other) => strength(other) - strength(one);
  const causes = into[chosen].filter(shown).sort(surest);
  const effects = outOf[chosen].filter(shown).sort(surest);
  panel.replaceChildren(
    make("h3", {}, names[chosen]),
    make("p", {}, state.reach === "all" ? `${plural(up.variables.size, "ancestor")}, ${plural(down.variables.size, "descendant")}` : ""),
    ...neighbourList("Direct causes", causes, "cause"),
    ...neighbourList("Direct effects", effects, "effect"),
  );
}

function choose(variable, { move = true } = {}) {
  change("chosen", { chosen: variable });
  if (variable === null) {
    say("");
    return;
  }
  if (move) approach(variable);
  const listed = (list, end) => list.filter((edge) => !missed(edge) && visible(edge)).map((edge) => names[edges[end][edge]]).join(", ") || "none";
  say(`${names[variable]}: causes ${listed(into[variable], "cause")}; effects ${listed(outOf[variable], "effect")}.`);
}

function say(text) {
  byId("status").textContent = text;
}
