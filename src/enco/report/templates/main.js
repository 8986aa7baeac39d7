// Everything together.
function preferDark() {
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light colours" : "Dark colours";
  change("theme", {});
}

function matches(words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return [];
  return names.map((_, variable) => variable).filter((variable) => names[variable].toLowerCase().includes(wanted));
}

function onSearch() {
  const words = byId("search").value;
  const found = matches(words);
  nodeShapes.forEach((shape, variable) => shape.classList.toggle("match", found.includes(variable)));
  const exact = names.indexOf(words.trim());
  if (exact >= 0) choose(exact);
  else if (words.trim()) say(`${plural(found.length, "variable")} found${found.length ? "; Enter goes to the first" : ""}.`);
  else say("");
}

function onSearchKey(event) {
  if (event.key === "Enter") {
    const [first] = matches(byId("search").value);
    if (first !== undefined) choose(first);
  } else if (event.key === "Escape") {
    byId("search").value = "";
    onSearch();
  }
}

function onThreshold() {
  change("threshold", { threshold: Number(byId("threshold").value) });
  byId("threshold-value").textContent = state.threshold.toFixed(2);
  const found = graphEdges();
  say(`${found.filter(visible).length.toLocaleString("en")} of ${plural(found.length, "edge")} shown.`);
}

function onBy(event) {
  change("by", { by: event.target.value });
  onThreshold();
  say(`Edges follow the ${NUMBERS[state.by]}. ${byId("status").textContent}`);
}

function reset() {
  byId("search").value = "";
  byId("threshold").value = 0;
  names.forEach((_, variable) => {
    place[variable] = { x: content.x[variable] * ACROSS, y: content.y[variable] * DOWN };
    moveNode(variable);
  });
  edgeShapes.forEach((shape, edge) => shape.setAttribute("d", edgePath(edge)));
  confounderShapes.forEach((shape, at) => shape.setAttribute("d", confounderPath(content.confounders[at])));
  onSearch();
  onThreshold();
  choose(null);
  goTo(null);
  fitTo();
}

function onSwitch(id, key) {
  byId(id)?.addEventListener("change", (event) => change("threshold", { [key]: event.target.checked }));
}

let shownWidth = null;
setTheme(preferDark() ? "dark" : "light");
byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
byId("names").append(...[...names].sort().map((name) => make("option", { value: name })));
on("by", paintEdges);
on("threshold", showEdges);
on("threshold", highlight);
on("chosen", highlight);
build();
listenToDrawing();
buildTable();
buildMatrix();
byId("search").addEventListener("input", onSearch);
byId("search").addEventListener("keydown", onSearchKey);
byId("threshold").addEventListener("input", onThreshold);
byId("by")?.addEventListener("change", onBy);
byId("reach").addEventListener("change", (event) => change("chosen", { reach: event.target.value }));
onSwitch("show-missed", "showMissed");
onSwitch("show-confounders", "showConfounders");
byId("zoom-in").addEventListener("click", () => zoom(1.3));
byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
byId("fit").addEventListener("click", () => fitTo());
byId("reset").addEventListener("click", reset);
byId("download-csv").addEventListener("click", () => download("edges.csv", "text/csv", edgesAsCsv()));
byId("download-graphml").addEventListener("click", () => download("graph.graphml", "application/xml", graphAsGraphml()));
// The bars of a phone's browser change the height all the time; only a new width needs a new view.
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width !== shownWidth) fitTo();
  shownWidth = contentRect.width;
}).observe(view);
highlight();
fitTo();
