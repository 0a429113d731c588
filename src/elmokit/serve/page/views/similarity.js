// View 3: every token of one sentence beside every token of another.

import { layerSlider, textBox } from "../parts/controls.js";
import { downloadButtons } from "../parts/download.js";
import { element, joined, svgElement } from "../parts/elements.js";
import { inkOn, shade } from "../parts/palette.js";

const CELL = 46;
const FONT = "system-ui, sans-serif";

export function similarityView(page) {
  const { source, state } = page;
  let shown = null;
  const texts = source.sentences.map(joined);
  const [first, second] = ["a", "b"].map((name, number) => {
    const box = textBox({
      id: `sentence-${name}`, label: number ? "Across" : "Down", options: texts, placeholder: "a sentence",
      onchange: (text) => state.set({ [name]: text }, true),
    });
    box.element.classList.add("wide");
    return box;
  });
  const slider = layerSlider(source.layers, false, (layer) => state.set({ layer }));
  const field = element("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Similarity of all pairs of tokens" });
  const facts = element("p", { class: "facts", role: "status" });
  const layer = () => Math.round(Number(state.get("layer")));
  const downloads = downloadButtons(
    () => `elmokit similarity ${source.layers[layer()]}`, () => draw(true), rows);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "toolbar" }, first.element, second.element, downloads),
    slider.element, field, facts,
  );

  function wanted() {
    return [state.get("a") || texts[0] || "", state.get("b") || texts[1] || texts[0] || ""];
  }

  function draw(isPicture) {
    const look = getComputedStyle(root);
    return drawMatrix(tokensOf(), shown.item.layers[layer()], (name) => look.getPropertyValue(name).trim(), page.isDark(), isPicture);
  }

  function tokensOf() {
    const { exploration, item } = shown;
    return [item.first, item.second].map((number) => exploration.sentences[number].tokens);
  }

  function rows() {
    const [ours, theirs] = tokensOf();
    return [
      ["layer", "place", "token", "other_place", "other_token", "cosine"],
      ...shown.item.layers.flatMap((values, number) => values.flatMap((row, i) =>
        row.map((value, j) => [source.layers[number], i + 1, ours[i], j + 1, theirs[j], value]))),
    ];
  }

  function show() {
    slider.set(layer());
    field.replaceChildren(draw(false));
    facts.replaceChildren(...bestPair(tokensOf(), shown.item.layers[layer()]));
  }

  async function load() {
    const [one, other] = wanted();
    first.set(one);
    second.set(other);
    slider.set(layer());
    const found = await page.attempt(root, () => source.similarity(one, other));
    if (!found || wanted().join("\n") !== `${one}\n${other}`) return;
    shown = found;
    show();
  }

  return {
    element: root,
    update(changed) {
      if (!changed || changed.has("a") || changed.has("b")) load();
      else if (shown && (changed.has("layer") || changed.has("theme"))) show();
    },
  };
}

/** The word that both sentences share, if there is one: how alike are its two uses? */
function bestPair([ours, theirs], values) {
  const shared = [...ours.entries()]
    .map(([i, token]) => [i, theirs.findIndex((other) => other.toLowerCase() === token.toLowerCase())])
    .filter(([i, j]) => j >= 0 && /\p{L}{3}/u.test(ours[i]))
    .sort(([one], [other]) => ours[other].length - ours[one].length); // the longest: some word of content
  const outlined = "Outlined: the best match of each row.";
  if (!shared.length) return [outlined];
  const [[i, j]] = shared;
  return ["The two uses of ", element("b", {}, ours[i]), " have a cosine of ", element("b", {}, values[i][j].toFixed(2)), `. ${outlined}`];
}

function drawMatrix([ours, theirs], values, colour, isDark, isPicture) {
  const longest = (tokens, least) => Math.max(least, ...tokens.map((token) => Math.min(token.length, 16) * 7.6)) + 16;
  const [left, top] = [longest(ours, 40), longest(theirs, 20) * 0.78 + 16];
  const width = Math.ceil(left + CELL * theirs.length + 40);
  const height = Math.ceil(top + CELL * ours.length + 6);
  const svg = svgElement("svg", { width, height, "font-family": FONT, "font-size": 13, fill: colour("--ink"), role: "img", "aria-label": `${ours.length} by ${theirs.length} cosines` });
  if (isPicture) svg.append(svgElement("rect", { width: "100%", height: "100%", fill: colour("--paper") }));
  theirs.forEach((token, j) => {
    const [x, y] = [left + CELL * (j + 0.5), top - 8];
    svg.append(svgElement("text", { x, y, transform: `rotate(-45 ${x} ${y})`, "data-column": j }, short(token)));
  });
  values.forEach((row, i) => {
    const y = top + CELL * i;
    svg.append(svgElement("text", { x: left - 8, y: y + CELL / 2 + 4, "text-anchor": "end", "data-row": i }, short(ours[i])));
    const best = row.indexOf(Math.max(...row));
    row.forEach((value, j) => svg.append(drawCell(value, left + CELL * j, y, `${ours[i]} and ${theirs[j]}: ${value.toFixed(3)}`, isDark)));
    svg.append(svgElement("rect", { x: left + CELL * best + 1, y: y + 1, width: CELL - 3, height: CELL - 3, rx: 4, fill: "none", stroke: colour("--accent"), "stroke-width": 2 }));
  });
  return svg;
}

function drawCell(value, x, y, title, isDark) {
  return svgElement(
    "g",
    { class: "cell" },
    svgElement("title", {}, title),
    svgElement("rect", { x: x + 0.5, y: y + 0.5, width: CELL - 2, height: CELL - 2, rx: 4, fill: shade(value, isDark) }),
    svgElement("text", { x: x + CELL / 2, y: y + CELL / 2 + 4, "text-anchor": "middle", "font-size": 12, fill: inkOn(value, isDark) }, value.toFixed(2).replace(/^(-?)0\./, "$1.")),
  );
}

const short = (token) => (token.length > 16 ? `${token.slice(0, 15)}…` : token);
