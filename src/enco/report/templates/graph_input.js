// Mouse, touch and keys in the drawing.
const pointers = new Map();
let dragged = null; // a variable, or null for the background
let travelled = 0;
let current = null; // the variable the arrow keys have reached

function variableAt(event) {
  const node = event.target.closest?.(".node");
  return node ? Number(node.dataset.variable) : null;
}

function onPointerDown(event) {
  if (event.button !== 0) return;
  view.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  dragged = variableAt(event);
  travelled = 0;
}

function onPointerMove(event) {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const step = { x: event.clientX - before.x, y: event.clientY - before.y };
  if (pointers.size === 2) pinch(event);
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  travelled += Math.abs(step.x) + Math.abs(step.y);
  if (pointers.size !== 1 || travelled < 4) return;
  view.classList.add("moving");
  if (dragged === null) {
    camera.x += step.x;
    camera.y += step.y;
    look();
  } else {
    place[dragged].x += step.x / camera.scale;
    place[dragged].y += step.y / camera.scale;
    moveNode(dragged);
    moveEdges(dragged);
  }
}

function pinch(event) {
  const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
  const before = pointers.get(event.pointerId);
  const distance = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
  const box = view.getBoundingClientRect();
  const here = { x: event.clientX, y: event.clientY };
  zoom(distance(here) / distance(before), (here.x + other.x) / 2 - box.left, (here.y + other.y) / 2 - box.top);
}

function onPointerUp(event) {
  if (!pointers.delete(event.pointerId)) return;
  view.classList.remove("moving");
  if (travelled >= 4) return;
  if (dragged !== null) choose(dragged, { move: false });
  else if (state.chosen !== null) choose(null);
}

function onWheel(event) {
  // Without a click into it, the drawing lets the page scroll.
  if (document.activeElement !== view && !event.ctrlKey) return;
  event.preventDefault();
  const box = view.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * 0.0016), event.clientX - box.left, event.clientY - box.top);
}

const sameRow = (variable) => names.map((_, other) => other)
  .filter((other) => content.y[other] === content.y[variable])
  .sort((one, other) => place[one].x - place[other].x);

function nextVariable(key) {
  if (current === null) return state.chosen ?? content.order[0];
  const shown = (list) => list.filter((edge) => !missed(edge) && visible(edge));
  if (key === "ArrowUp") return edges.cause[shown(into[current])[0]] ?? current;
  if (key === "ArrowDown") return edges.effect[shown(outOf[current])[0]] ?? current;
  const row = sameRow(current);
  return row[row.indexOf(current) + (key === "ArrowLeft" ? -1 : 1)] ?? current;
}

function goTo(variable) {
  if (current !== null) nodeShapes[current].classList.remove("current");
  current = variable;
  if (current === null) return;
  nodeShapes[current].classList.add("current");
  if (!onScreen(place[current])) centre(current);
  say(names[current]);
}

const PAN = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key } = event;
  if (key in PAN && event.shiftKey) {
    camera.x += PAN[key][0];
    camera.y += PAN[key][1];
    look();
  } else if (key in PAN) goTo(nextVariable(key));
  else if (key === "Enter" || key === " ") {
    if (current === null) return;
    choose(current, { move: false });
  } else if (key === "+" || key === "=") zoom(1.25);
  else if (key === "-") zoom(0.8);
  else if (key === "0") fitTo();
  else if (key === "Escape") {
    goTo(null);
    choose(null);
    fitTo();
  } else return;
  event.preventDefault();
}

function listenToDrawing() {
  view.addEventListener("pointerdown", onPointerDown);
  view.addEventListener("pointermove", onPointerMove);
  view.addEventListener("pointerup", onPointerUp);
  view.addEventListener("pointercancel", onPointerUp);
  view.addEventListener("wheel", onWheel, { passive: false });
  view.addEventListener("keydown", onKey);
}
