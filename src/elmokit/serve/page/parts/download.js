// What is shown, as a file: SVG and CSV as they are, PNG drawn from the SVG.

import { element } from "./elements.js";

/** Rows of plain values as CSV (RFC 4180); the first row is the header. */
export function toCsv(rows) {
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet would run a cell that begins like a formula.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function svgText(svg) {
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(svg);
}

async function savePng(svg, name) {
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  // Twice the size, for print; no browser draws more than some 16,000 pixels.
  const scale = Math.min(2, 16000 / Math.max(width, height));
  const canvas = element("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.drawImage(image, 0, 0);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  save(blob, `${name}.png`);
}

/** Buttons for a view: picture() gives an SVG element with a width and a height, rows() a table. */
export function downloadButtons(name, picture, rows) {
  const plain = () => name().replace(/[^\p{L}\p{N}]+/gu, "-");
  const button = (label, onclick) =>
    element("button", { type: "button", class: "small", onclick, title: `Save as ${label}` }, label);
  return element(
    "div",
    { class: "downloads", role: "group", "aria-label": "Save what is shown" },
    element("span", { class: "quiet" }, "Save"),
    button("PNG", () => savePng(picture(), plain())),
    button("SVG", () => save(new Blob([svgText(picture())], { type: "image/svg+xml" }), `${plain()}.svg`)),
    button("CSV", () => save(new Blob(["\ufeff", toCsv(rows())], { type: "text/csv" }), `${plain()}.csv`)),
  );
}
