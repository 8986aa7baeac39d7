// The edges of the graph as files, made in the browser.
const FIELDS = content.columns.map(([field]) => field);
const typeOf = Object.fromEntries(content.columns);
const graphEdges = () => Array.from({ length: edgeCount }, (_, edge) => edge).filter((edge) => !missed(edge));

// As pandas writes it: nothing where there is no number, and real numbers with a point.
function asText(field, edge) {
  const value = edges[field][edge];
  if (value === null) return "";
  if (typeOf[field] === "boolean") return value ? "True" : "False";
  return typeOf[field] === "double" && Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function edgesAsCsv() {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // A spreadsheet would run these as formulas; the apostrophe is as in edges.csv of the result (enco.io._cells).
  const plain = (text) => (/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']/.test(text) ? `'${text}` : text);
  const cell = (variable) => quoted(plain(names[variable]));
  const line = (edge) => [
    cell(edges.cause[edge]), cell(edges.effect[edge]), ...FIELDS.map((field) => asText(field, edge)),
  ].join(",");
  return `${[["cause", "effect", ...FIELDS].join(","), ...graphEdges().map(line)].join("\n")}\n`;
}

// XML knows no control characters, not even as references.
const inXml = (text) => text
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
  .replace(/[&<>"'\t\r\n]/g, (letter) => `&#${letter.charCodeAt(0)};`);

function graphAsGraphml() {
  const keys = FIELDS.map((field) => `  <key id="${field}" for="edge" attr.name="${field}" attr.type="${typeOf[field]}"/>`);
  const nodes = names.map((name) => `    <node id="${inXml(name)}"/>`);
  const lines = graphEdges().map((edge) => {
    const known = FIELDS.filter((field) => edges[field][edge] !== null);
    const values = known.map((field) => `<data key="${field}">${edges[field][edge]}</data>`).join("");
    return `    <edge source="${inXml(names[edges.cause[edge]])}" target="${inXml(names[edges.effect[edge]])}">${values}</edge>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">', ...keys,
    '  <graph edgedefault="directed">', ...nodes, ...lines, "  </graph>", "</graphml>", "",
  ].join("\n");
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
