// The table: sorted by a column, filtered by name and kind, a page of rows at a time.
const PAGE = 200;
const byName = (end) => (edge) => names[edges[end][edge]];
const fixed = (value) => value.toFixed(3);
const counted = (value) => value.toLocaleString("en");
const MINUS = "\u2212";
const rounded = (value, digits) => value.toFixed(digits).replace("-", MINUS);
const SOURCES = { added: "changed", reversed: "changed" };

function gainCell(gain, edge) {
  const error = edges.gain_error[edge];
  const digits = Math.max(Math.abs(gain), error ?? 0) < 10 ? 1 : 0;
  return error === null ? rounded(gain, digits) : `${rounded(gain, digits)} \u00b1 ${rounded(error, digits)}`;
}
const COLUMNS = [
  { key: "cause", title: "cause", value: byName("cause"), cell: (edge) => variableLink(edges.cause[edge]) },
  { key: "effect", title: "effect", value: byName("effect"), cell: (edge) => variableLink(edges.effect[edge]) },
  { key: "probability", title: "probability", number: fixed },
  { key: "existence", title: "existence", number: fixed },
  { key: "orientation", title: "orientation", number: fixed },
  ...(content.refits ? [{ key: "frequency", title: "frequency", number: (value) => value.toFixed(2) }] : []),
  { key: "source", title: "source", tag: (value) => (value ? [value, SOURCES[value] ?? ""] : null) },
  { key: "gain", title: "gain", number: gainCell },
  { key: "slope", title: "slope", number: (value) => (value > 0 ? "+" : "") + rounded(value, 2) },
  { key: "regimes", title: "experiments", number: counted },
  { key: "rows", title: "rows", number: counted },
  { key: "orientation_rows", title: "direction rows", number: counted },
  { key: "adjacent_intervention", title: "adjacent intervention", tag: (value) => (value ? ["yes", ""] : ["no", "distant"]) },
];
if (content.compared) COLUMNS.push({ key: "status", title: "truth", tag: (value) => (value === "found" ? ["right", ""] : [value, value]) });

const table = { key: "probability", down: true, rows: PAGE };
const KINDS = {
  adjacent: (edge) => edges.adjacent_intervention[edge],
  distant: (edge) => !edges.adjacent_intervention[edge],
  changed: (edge) => edges.source[edge] in SOURCES,
};
for (const status of ["found", "false", "missed"]) KINDS[status] = (edge) => edges.status[edge] === status;

function listedEdges() {
  const words = byId("filter").value.trim().toLowerCase();
  const kind = KINDS[byId("kind").value] ?? (() => true);
  const hit = (variable) => names[variable].toLowerCase().includes(words);
  const all = Array.from({ length: edgeCount }, (_, edge) => edge);
  return all.filter((edge) => visible(edge) && kind(edge) && (!words || hit(edges.cause[edge]) || hit(edges.effect[edge])));
}

function sorted(list) {
  const column = COLUMNS.find(({ key }) => key === table.key);
  const value = column.value ?? ((edge) => edges[column.key][edge]);
  const compare = (one, other) => (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);
  const sign = table.down ? -1 : 1;
  const missing = (edge) => Number(value(edge) === null); // last, whatever the direction
  return list.sort((one, other) => missing(one) - missing(other) || sign * compare(value(one), value(other)) || one - other);
}

function cellOf(column, edge) {
  const value = edges[column.key][edge];
  const cell = make("td", column.number ? { class: "number" } : {});
  if (column.key === "probability") cell.append(make("meter", { min: 0, max: 1, value, "aria-hidden": "true" }));
  if (column.cell) cell.append(column.cell(edge));
  else if (column.number) cell.append(value === null ? "" : column.number(value, edge));
  else {
    const tag = column.tag(value);
    if (tag) cell.append(make("span", { class: `tag ${tag[1]}` }, tag[0]));
  }
  return cell;
}

function fillTable() {
  const list = sorted(listedEdges());
  const rows = list.slice(0, table.rows).map((edge) => {
    const row = make("tr", { "data-edge": edge });
    row.append(...COLUMNS.map((column) => cellOf(column, edge)));
    return row;
  });
  byId("table").tBodies[0].replaceChildren(...rows);
  byId("more").hidden = list.length <= table.rows;
  byId("count").textContent = `${plural(list.length, "edge")} of ${edgeCount.toLocaleString("en")} listed.`;
  for (const heading of byId("table").tHead.rows[0].cells) {
    if (heading.dataset.key === table.key) heading.setAttribute("aria-sort", table.down ? "descending" : "ascending");
    else heading.removeAttribute("aria-sort");
  }
}

function sortBy(key) {
  const text = ["cause", "effect", "source"].includes(key);
  Object.assign(table, key === table.key ? { down: !table.down } : { key, down: !text }, { rows: PAGE });
  fillTable();
}

function buildTable() {
  byId("table").tHead.rows[0].append(...COLUMNS.map(({ key, title, number }) => {
    const heading = make("th", { scope: "col", "data-key": key, ...(number ? { class: "number" } : {}) });
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => sortBy(key));
    heading.append(button);
    return heading;
  }));
  const again = () => {
    table.rows = PAGE;
    fillTable();
  };
  byId("filter").addEventListener("input", again);
  byId("kind").addEventListener("change", again);
  byId("more").addEventListener("click", () => {
    table.rows += 5 * PAGE;
    fillTable();
  });
  on("threshold", again);
  fillTable();
}
