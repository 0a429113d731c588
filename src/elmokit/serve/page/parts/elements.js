// Elements from plain calls. Text is always set as text: a corpus may contain anything.

const SVG = "http://www.w3.org/2000/svg";

/** element("p", {class: "note", onclick: f}, "text", child): an HTML element. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svgElement(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

/** 1234567 -> "1,234,567". */
export function grouped(number) {
  return Math.round(number).toLocaleString("en");
}

/** 0.4312 -> "43 %". */
export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

/** Text as it is read: no space before a full stop. */
export function joined(tokens) {
  let text = "";
  let opens = true;
  let quoted = false;
  for (const token of tokens) {
    const closesQuote = token === '"' && quoted;
    const sticks = closesQuote || /^([.,;:!?%)\]}]|'s|'re|'ve|'ll|'d|'m|n't|''|\u2019.*|\u201d)$/i.test(token);
    text += opens || sticks ? token : ` ${token}`;
    opens = /^([([{$\u00a3]|``|\u201c)$/.test(token) || (token === '"' && !quoted);
    if (token === '"') quoted = !quoted;
  }
  return text;
}
