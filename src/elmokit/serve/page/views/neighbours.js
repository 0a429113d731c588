// View 4: the nearest uses in context, beside the nearest words by vectors that see no context.

import { keywordInContext } from "../parts/concordance.js";
import { layerSlider, textBox } from "../parts/controls.js";
import { downloadButtons } from "../parts/download.js";
import { element, joined, svgElement } from "../parts/elements.js";

export function neighboursView(page) {
  const { source, state } = page;
  let shown = null;
  const word = textBox({
    id: "near-word", label: "Word", options: source.suggestions, placeholder: "a word",
    onchange: (text) => state.set({ word: text, token: "" }, true),
  });
  const use = element("select", { id: "near-use", onchange: () => state.set({ token: use.value }, true) });
  const slider = layerSlider(source.layers, false, (layer) => state.set({ layer }));
  const inContext = element("div");
  const byItself = element("div");
  const downloads = downloadButtons(() => `elmokit neighbours ${state.get("word")}`, picture, rows);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "toolbar" }, word.element, element("label", { class: "field wide", for: "near-use" }, element("span", {}, "Use"), use), downloads),
    slider.element,
    element("div", { class: "split even" }, inContext, byItself),
  );

  async function load() {
    const wanted = state.get("word");
    word.set(wanted);
    const found = await page.attempt(root, () => source.word(wanted));
    if (!found || wanted !== state.get("word")) return;
    listUses(found);
    const asked = state.get("token") || use.options[0]?.value;
    if (!asked) return;
    const [place, ...tokens] = JSON.parse(asked);
    use.value = asked;
    const near = await page.attempt(root, () => source.neighbours(tokens, place));
    if (!near) return;
    shown = near;
    show();
  }

  function listUses({ exploration, uses }) {
    const spots = uses.uses.filter((spot) => source.hasNeighbours(exploration, spot));
    const values = new Map(spots.map((spot) => {
      const { tokens } = exploration.sentences[spot.sentence];
      return [JSON.stringify([spot.place, ...tokens]), marked(tokens, spot.place)];
    }));
    const asked = state.get("token");
    if (asked && !values.has(asked)) {
      const [place, ...tokens] = JSON.parse(asked);
      values.set(asked, marked(tokens, place));
    }
    use.replaceChildren(...[...values].map(([value, text]) => element("option", { value }, text)));
  }

  function show() {
    const { exploration, item } = shown;
    const layer = Math.round(Number(state.get("layer")));
    slider.set(layer);
    const found = item.layers[layer];
    inContext.replaceChildren(
      element("h2", {}, `In context, ${source.layers[layer]}`),
      element("p", { class: "quiet" }, `Nearest of ${exploration.corpus.searched}`),
      found === null
        ? element("p", {}, "This layer sees the word alone, so every use of a word is nearest to itself. Choose a higher layer.")
        : element("ol", { class: "near" }, found.map((near) => nearLine(exploration, near))),
    );
    byItself.replaceChildren(
      element("h2", {}, "Static: without context"),
      element("p", { class: "quiet" }, `By ${item.static_source}, the same for every use of “${exploration.sentences[item.sentence].tokens[item.place]}”`),
      item.static === null
        ? element("p", {}, "This word has no static vector here.")
        : element("ol", { class: "near" }, item.static.map((near) =>
            element("li", {}, similarityBar(near.similarity), element("b", { class: "static-word" }, near.word)))),
    );
  }

  function rows() {
    const { exploration, item } = shown;
    const found = [["kind", "layer", "rank", "cosine", "left", "word", "right"]];
    item.layers.forEach((layer, number) => layer?.forEach((near, rank) => {
      const { left, word: keyword, right } = keywordInContext(exploration, near);
      found.push(["in context", source.layers[number], rank + 1, near.similarity, left, keyword, right]);
    }));
    item.static?.forEach((near, rank) => found.push(["static", item.static_source, rank + 1, near.similarity, "", near.word, ""]));
    return found;
  }

  function picture() {
    const look = getComputedStyle(root);
    const layer = Math.round(Number(state.get("layer")));
    const { exploration, item } = shown;
    const lines = [
      [`In context, ${source.layers[layer]}: ${marked(exploration.sentences[item.sentence].tokens, item.place)}`, null],
      ...(item.layers[layer] ?? []).map((near) => [marked(exploration.sentences[near.sentence].tokens, near.place), near.similarity]),
      [`Static, by ${item.static_source}`, null],
      ...(item.static ?? []).map((near) => [near.word, near.similarity]),
    ];
    return drawLines(lines, (name) => look.getPropertyValue(name).trim());
  }

  return {
    element: root,
    update(changed) {
      if (!changed || changed.has("word") || changed.has("token")) load();
      else if (shown && changed.has("layer")) show();
    },
  };
}

const marked = (tokens, place) =>
  joined(tokens.map((token, number) => (number === place ? `*${token}*` : token)));

function similarityBar(value) {
  return element(
    "span",
    { class: "cosine", title: "cosine similarity" },
    element("span", { class: "cosine-bar", style: `width:${Math.max(0, 100 * value).toFixed(0)}%` }),
    element("span", { class: "cosine-value" }, value.toFixed(2)),
  );
}

function nearLine(exploration, near) {
  const { left, word, right } = keywordInContext(exploration, near);
  return element("li", {}, similarityBar(near.similarity),
    element("span", { class: "near-text" }, `${left} `, element("b", {}, word), /^[.,;:!?]/.test(right) ? right : ` ${right}`));
}

function drawLines(lines, colour) {
  const svg = svgElement("svg", { width: 860, height: 26 * lines.length + 30, "font-family": "system-ui, sans-serif", "font-size": 13, fill: colour("--ink") });
  svg.append(svgElement("rect", { width: "100%", height: "100%", fill: colour("--paper") }));
  lines.forEach(([text, value], number) => {
    const y = 34 + 26 * number;
    const isHead = value === null;
    if (!isHead) {
      svg.append(svgElement("rect", { x: 16, y: y - 12, width: 60 * Math.max(0, value), height: 14, rx: 2, fill: colour("--accent"), opacity: 0.3 }));
      svg.append(svgElement("text", { x: 20, y }, value.toFixed(2)));
    }
    svg.append(svgElement("text", { x: isHead ? 16 : 90, y, "font-weight": isHead ? 650 : 400 }, text.length > 110 ? `${text.slice(0, 109)}…` : text));
  });
  return svg;
}
