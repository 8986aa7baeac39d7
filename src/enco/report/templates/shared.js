// What every part of the page uses: the embedded content, a few helpers, and the state that the parts share.
const content = JSON.parse(document.getElementById("content").textContent);
const { names, edges } = content;
const edgeCount = edges.cause.length;
const byId = (id) => document.getElementById(id);

// Text goes to the page as text only, so that no name can become markup.
function make(tag, attributes = {}, text = null, space = null) {
  const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  return element;
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const missed = (edge) => edges.status[edge] === "missed";

// Parts subscribe to what they draw: "threshold" (slider), "by" (the number that edges follow), "chosen" (variable), "theme".
const state = { threshold: 0, by: "probability", chosen: null, reach: "all", showMissed: true, showConfounders: true };
const listeners = {};
function on(topic, listener) {
  (listeners[topic] ??= []).push(listener);
}
function change(topic, values) {
  Object.assign(state, values);
  for (const listener of listeners[topic] ?? []) listener();
}

// What slider, colour and width of an edge follow.
const strength = (edge) => edges[state.by][edge] ?? 0;

// A missed edge is improbable by nature; a switch of its own hides it, not the slider.
function visible(edge) {
  return missed(edge) ? state.showMissed : strength(edge) >= state.threshold;
}

const into = names.map(() => []);
const outOf = names.map(() => []);
for (let edge = 0; edge < edgeCount; edge += 1) {
  into[edges.effect[edge]].push(edge);
  outOf[edges.cause[edge]].push(edge);
}

// Variables and edges upstream (or downstream) of a variable, along edges that are shown and were found.
function reachable(start, upstream) {
  const variables = new Set();
  const passed = new Set();
  const waiting = [start];
  while (waiting.length) {
    const variable = waiting.pop();
    for (const edge of upstream ? into[variable] : outOf[variable]) {
      if (missed(edge) || !visible(edge)) continue;
      passed.add(edge);
      const next = upstream ? edges.cause[edge] : edges.effect[edge];
      if (variables.has(next)) continue;
      variables.add(next);
      if (state.reach === "all") waiting.push(next);
    }
  }
  return { variables, edges: passed };
}
