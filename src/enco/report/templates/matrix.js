// The matrix of all pairs, in causal order: one byte per pair, 255 where there is no value.
const MATRIX_SIZE = 640;
const NO_VALUE = 255;
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const matrices = Object.fromEntries(Object.entries(content.matrices).map(([kind, text]) => [kind, bytes(text)]));
const cells = byId("cells");
const n = names.length;
const cellSize = Math.max(1, Math.min(26, Math.floor(MATRIX_SIZE / n)));
const labelled = cellSize >= 11;
const cursor = { row: 0, column: 0, shown: false };

function valueOf(kind, cause, effect) {
  if (cause === effect) return null;
  const share = (name) => {
    const level = matrices[name][cause * n + effect];
    return level === NO_VALUE ? null : level / 254;
  };
  return kind === "edge" ? share("existence") * share("orientation") : share(kind);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark";
}

// From the colour of the card to a strong one; orientations have a middle, one half, and two ends.
function palette(kind) {
  const paper = isDark() ? [24, 30, 40] : [255, 255, 255];
  const strong = isDark() ? [127, 190, 255] : [16, 72, 152];
  const opposite = isDark() ? [240, 160, 90] : [180, 84, 10];
  const mix = (end, share) => paper.map((from, at) => Math.round(from + (end[at] - from) * share));
  if (kind === "orientation") return (value) => (value >= 0.5 ? mix(strong, 2 * value - 1) : mix(opposite, 1 - 2 * value));
  return (value) => mix(strong, value ** 0.8);
}

const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

function margin(context) {
  if (!labelled) return 0;
  context.font = "11px system-ui, sans-serif";
  return 8 + Math.max(...names.map((name) => context.measureText(shortened(name)).width));
}

function drawMatrix() {
  const kind = byId("matrix-kind").value;
  const context = cells.getContext("2d");
  const edge = Math.ceil(margin(context));
  const size = edge + n * cellSize;
  const ratio = window.devicePixelRatio || 1;
  Object.assign(cells, { width: size * ratio, height: size * ratio });
  Object.assign(cells.style, { width: `${size}px`, height: `${size}px` });
  cells.dataset.margin = edge;
  context.scale(ratio, ratio);
  context.fillStyle = colour("line");
  context.fillRect(edge, edge, n * cellSize, n * cellSize);
  context.imageSmoothingEnabled = false;
  context.drawImage(paint(kind), edge, edge, n * cellSize, n * cellSize);
  if (cellSize >= 6) {
    drawGrid(context, edge);
    markEdges(context, edge);
  }
  if (labelled) drawLabels(context, edge);
  if (cursor.shown) {
    context.strokeStyle = colour("ancestor");
    context.lineWidth = 2;
    context.strokeRect(edge + cursor.column * cellSize, edge + cursor.row * cellSize, Math.max(4, cellSize), Math.max(4, cellSize));
  }
}

// One pixel per pair, to be enlarged: quick even for thousands of variables.
function paint(kind) {
  const shade = palette(kind);
  const shades = Array.from({ length: 255 }, (_, level) => shade(level / 254));
  const canvas = make("canvas", { width: n, height: n });
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  let at = 0;
  for (const cause of content.order) {
    for (const effect of content.order) {
      const value = valueOf(kind, cause, effect);
      if (value !== null) image.data.set([...shades[Math.round(value * 254)], 255], at); // else transparent
      at += 4;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function drawGrid(context, edge) {
  context.fillStyle = colour("card");
  for (let at = 1; at < n; at += 1) {
    context.fillRect(edge + at * cellSize - 1, edge, 1, n * cellSize);
    context.fillRect(edge, edge + at * cellSize - 1, n * cellSize, 1);
  }
}

const rank = [];
content.order.forEach((variable, at) => { rank[variable] = at; });

function markEdges(context, edge) {
  context.fillStyle = colour("ancestor");
  for (let at = 0; at < edgeCount; at += 1) {
    if (missed(at)) continue;
    const [row, column] = [rank[edges.cause[at]], rank[edges.effect[at]]];
    context.beginPath();
    context.arc(edge + (column + 0.5) * cellSize - 0.5, edge + (row + 0.5) * cellSize - 0.5, Math.min(3, cellSize / 5), 0, 7);
    context.fill();
  }
}

function drawLabels(context, edge) {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colour("soft");
  context.textBaseline = "middle";
  content.order.forEach((variable, at) => {
    const middle = edge + (at + 0.5) * cellSize;
    context.textAlign = "right";
    context.fillText(shortened(names[variable]), edge - 5, middle);
    context.save();
    context.translate(middle, edge - 5);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(shortened(names[variable]), 0, 0);
    context.restore();
  });
}

function drawScale() {
  const canvas = byId("scale");
  const context = canvas.getContext("2d");
  const shade = palette(byId("matrix-kind").value);
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = css(shade(x / (canvas.width - 1)));
    context.fillRect(x, 0, 1, canvas.height);
  }
}

function tellCell(row, column) {
  const [cause, effect] = [content.order[row], content.order[column]];
  const pair = `${names[cause]} \u2192 ${names[effect]}`;
  if (cause === effect) {
    byId("cell").textContent = names[cause];
    return;
  }
  const said = (kind) => valueOf(kind, cause, effect)?.toFixed(2) ?? "not known";
  const often = content.refits ? `, frequency ${said("frequency")}` : "";
  const scores = "confounders" in matrices ? `, confounder score ${said("confounders")}` : "";
  const found = outOf[cause].some((edge) => edges.effect[edge] === effect && !missed(edge)) ? ", in the graph" : "";
  byId("cell").textContent = `${pair}: probability ${said("edge")}, existence ${said("existence")}, orientation ${said("orientation")}${often}${scores}${found}`;
}

function cellAt(event) {
  const box = cells.getBoundingClientRect();
  const edge = Number(cells.dataset.margin);
  const column = Math.floor((event.clientX - box.left - edge) / cellSize);
  const row = Math.floor((event.clientY - box.top - edge) / cellSize);
  return row >= 0 && column >= 0 && row < n && column < n ? { row, column } : null;
}

const STEP = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function moveCursor(event) {
  if (event.key === "Enter") choose(content.order[cursor.row]);
  else if (event.key in STEP) {
    const within = (value) => Math.max(0, Math.min(n - 1, value));
    const [down, right] = cursor.shown ? STEP[event.key] : [0, 0];
    Object.assign(cursor, { row: within(cursor.row + down), column: within(cursor.column + right), shown: true });
    drawMatrix();
    tellCell(cursor.row, cursor.column);
  } else return;
  event.preventDefault();
}

function buildMatrix() {
  const draw = () => {
    drawMatrix();
    drawScale();
  };
  byId("matrix-kind").addEventListener("change", draw);
  cells.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) tellCell(cell.row, cell.column);
  });
  cells.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) choose(content.order[cell.row]);
  });
  cells.addEventListener("keydown", moveCursor);
  on("theme", draw);
  draw();
}
