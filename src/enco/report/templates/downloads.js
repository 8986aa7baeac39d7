// The edges of the graph as files, made in the browser.
const FIELDS = ["probability", "existence", "orientation", "regimes", "rows", "orientation_rows", "adjacent_intervention"];
const graphEdges = () => Array.from({ length: edgeCount }, (_, edge) => edge).filter((edge) => !missed(edge));
const yesNo = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : String(value));

function edgesAsCsv() {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // A spreadsheet would run these as formulas; the apostrophe is as in edges.csv of the result (enco.io._cells).
  const plain = (text) => (/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']/.test(text) ? `'${text}` : text);
  const cell = (variable) => quoted(plain(names[variable]));
  const line = (edge) => [
    cell(edges.cause[edge]), cell(edges.effect[edge]), ...FIELDS.map((field) => yesNo(edges[field][edge])),
  ].join(",");
  return `${[["cause", "effect", ...FIELDS].join(","), ...graphEdges().map(line)].join("\n")}\n`;
}

// XML knows no control characters, not even as references.
const inXml = (text) => text
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
  .replace(/[&<>"'\t\r\n]/g, (letter) => `&#${letter.charCodeAt(0)};`);

function graphAsGraphml() {
  const typeOf = (field) => (field === "adjacent_intervention" ? "boolean" : /rows|regimes/.test(field) ? "long" : "double");
  const keys = FIELDS.map((field) => `  <key id="${field}" for="edge" attr.name="${field}" attr.type="${typeOf(field)}"/>`);
  const nodes = names.map((name) => `    <node id="${inXml(name)}"/>`);
  const lines = graphEdges().map((edge) => {
    const values = FIELDS.map((field) => `<data key="${field}">${edges[field][edge]}</data>`).join("");
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
