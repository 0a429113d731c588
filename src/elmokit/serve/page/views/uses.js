// View 1: all uses of a word, layer by layer.

import { Concordance, keywordInContext } from "../parts/concordance.js";
import { layerSlider, legend, segments, textBox } from "../parts/controls.js";
import { downloadButtons } from "../parts/download.js";
import { element } from "../parts/elements.js";
import { styleLabels } from "../parts/palette.js";
import { Planes } from "../parts/planes.js";
import { Scatter } from "../parts/scatter.js";

const KINDS = { sense: "sense", cluster: "induced cluster", document: "document", date: "date" };

/** "3.5" <-> a set of uses. */
const readPicked = (text) => new Set(text ? text.split(".").map(Number) : []);
const writePicked = (picked) => [...picked].sort((a, b) => a - b).join(".");

export function usesView(page) {
  const { source, state } = page;
  let shown = null;

  const word = textBox({
    id: "word", label: "Word", options: source.suggestions, placeholder: "a word",
    onchange: (text) => state.set({ word: text, picked: "" }, true),
  });
  const chips = element("div", { class: "chips" }, source.words.slice(0, 14).map((text) =>
    element("button", { type: "button", class: "chip", "data-word": text, onclick: () => state.set({ word: text, picked: "" }, true) }, text)));
  const slider = layerSlider(source.layers, true, (layer) => state.set({ layer }));
  const colours = element("div", { class: "colours" });
  const names = element("div");
  const facts = element("p", { class: "facts" });

  const pick = (picked) => state.set({ picked: writePicked(picked) });
  const scatter = new Scatter(
    { hover: (use) => concordance.highlight(use, true), pick },
    (use) => {
      const { left, word: keyword, right } = keywordInContext(shown.exploration, shown.uses.uses[use]);
      const label = shown.styles.entries[shown.styles.ofUse[use]]?.name;
      return [`${left} `, element("b", {}, keyword), ` ${right}`, label ? element("div", { class: "quiet" }, label) : ""];
    },
  );
  const concordance = new Concordance(
    {
      hover: (use) => { scatter.highlight(use); concordance.highlight(use, false); },
      toggle: (use) => {
        const picked = readPicked(state.get("picked"));
        if (!picked.delete(use)) picked.add(use);
        pick(picked);
      },
      clear: () => pick(new Set()),
      neighbours: (use) => {
        const { sentence, place } = shown.uses.uses[use];
        const { tokens } = shown.exploration.sentences[sentence];
        state.set({ view: "neighbours", token: JSON.stringify([place, ...tokens]) }, true);
      },
    },
    (spot) => source.hasNeighbours(shown.exploration, spot),
  );
  const downloads = downloadButtons(
    () => `elmokit ${shown.uses.word} layer ${Number(state.get("layer")).toFixed(0)}`,
    () => scatter.picture(`“${shown.uses.word}”: ${shown.uses.uses.length} uses in ${shown.exploration.corpus.name}, ${shown.exploration.model.name}`),
    () => rows(shown, Number(state.get("layer"))),
  );

  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "toolbar" }, word.element, chips, colours, downloads),
    element(
      "div",
      { class: "split" },
      element("section", { class: "plot", "aria-label": "Map of the uses" }, scatter.element, slider.element, names, facts),
      concordance.element,
    ),
  );

  async function load() {
    const wanted = state.get("word");
    word.set(wanted);
    const found = await page.attempt(root, () => source.word(wanted));
    if (!found || wanted !== state.get("word")) return;
    const { exploration, uses } = found;
    shown = { exploration, uses, planes: new Planes(uses.layers), styles: null };
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.word === uses.word));
    colour();
  }

  function colour() {
    const { uses } = shown;
    const kinds = uses.labels.map((labels) => labels.kind);
    const kind = kinds.includes(state.get("colour")) ? state.get("colour") : kinds[0];
    const labels = uses.labels.find((one) => one.kind === kind);
    shown.labels = labels ?? null;
    shown.styles = styleLabels(labels, uses.uses.length, page.isDark());
    const choice = segments("Colour by", kinds.map((one) => [one, KINDS[one]]), (value) => state.set({ colour: value }));
    choice.set(kind);
    colours.replaceChildren(...(kinds.length > 1 ? [element("span", { class: "quiet" }, "Colour by"), choice.element] : []));
    names.replaceChildren(legend(shown.styles, (number) =>
      pick(new Set(shown.styles.ofUse.flatMap((one, use) => (one === number ? [use] : []))))));
    scatter.show(shown.planes, shown.styles, `${uses.uses.length} uses of ${uses.word} as points`);
    concordance.show(shown.exploration, uses, shown.styles);
    move();
    picked();
  }

  function move() {
    const layer = Number(state.get("layer"));
    slider.set(layer);
    scatter.setLayer(layer, source.layers);
    facts.replaceChildren(...similarityFacts(shown, Math.round(layer)));
  }

  function picked() {
    const chosen = readPicked(state.get("picked"));
    for (const use of [...chosen]) if (!(use < shown.uses.uses.length)) chosen.delete(use);
    scatter.setPicked(chosen);
    concordance.setPicked(chosen);
  }

  return {
    element: root,
    update(changed) {
      if (!changed || changed.has("word")) load();
      else if (!shown) return;
      else if (changed.has("colour") || changed.has("theme")) colour();
      else {
        if (changed.has("layer")) move();
        if (changed.has("picked")) picked();
      }
    },
  };
}

/** How alike the uses are, in words. */
function similarityFacts({ uses, labels }, layer) {
  const [all, same, apart] = uses.similarity[layer];
  const parts = ["Mean cosine of two uses: ", element("b", {}, all.toFixed(2))];
  if (same !== null && apart !== null && labels && uses.labels[0].kind === "sense") {
    parts.push("; of the same sense ", element("b", {}, same.toFixed(2)), ", of different senses ", element("b", {}, apart.toFixed(2)));
  }
  return [...parts, "."];
}

function rows({ exploration, uses }, layer) {
  const planes = new Planes(uses.layers);
  const nearest = planes.layers[Math.round(layer)];
  return [
    ["word", "layer", "x", "y", ...uses.labels.map((labels) => labels.kind), "left", "keyword", "right", "document"],
    ...uses.uses.map((spot, use) => {
      const { left, word, right } = keywordInContext(exploration, spot);
      const known = uses.labels.map((labels) => labels.names[labels.of_use[use]] ?? "");
      const { document } = exploration.sentences[spot.sentence];
      return [uses.word, exploration.model.layers[Math.round(layer)], ...nearest.points[use], ...known, left, word, right, document];
    }),
  ];
}
