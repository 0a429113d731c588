// View 5: two models on one corpus, or one model on two corpora.

import { Concordance, keywordInContext } from "../parts/concordance.js";
import { layerSlider, legend, textBox } from "../parts/controls.js";
import { downloadButtons } from "../parts/download.js";
import { element, grouped, svgElement } from "../parts/elements.js";
import { styleLabels } from "../parts/palette.js";
import { Planes, shareBoxes } from "../parts/planes.js";
import { Scatter } from "../parts/scatter.js";

export function sidesView(page) {
  const { source, state } = page;
  let shown = null;
  const word = textBox({
    id: "sides-word", label: "Word", options: source.suggestions, placeholder: "a word",
    onchange: (text) => state.set({ word: text, picked: "" }, true),
  });
  const chips = element("div", { class: "chips" }, source.words.slice(0, 14).map((text) =>
    element("button", { type: "button", class: "chip", "data-word": text, onclick: () => state.set({ word: text, picked: "" }, true) }, text)));
  const slider = layerSlider(source.layers, true, (layer) => state.set({ layer }));
  const halves = element("div", { class: "split even" });
  const facts = element("p", { class: "facts" });
  const downloads = downloadButtons(() => `elmokit side by side ${state.get("word")}`, picture, rows);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "toolbar" }, word.element, chips, downloads),
    slider.element, facts, halves,
  );

  async function load() {
    const wanted = state.get("word");
    word.set(wanted);
    const found = await page.attempt(root, async () => {
      if (source.data.explorations.length < 2) {
        page.refuse("This page holds one model and one corpus. Two of them: elmokit explore TEXT --other-model MODEL, or --other-text TEXT.");
      }
      return source.sides(wanted);
    });
    if (!found || wanted !== state.get("word")) return;
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.word === wanted));
    show(found);
  }

  function show({ sides, comparison }) {
    // The same uses under two models: what is hovered or picked on one side is so on the other.
    const isLinked = comparison?.kind === "models";
    shown = { comparison, halves: [] };
    const labels = sharedLabels(sides);
    shown.halves = sides.map((side, number) => makeHalf(side, number, labels[number], isLinked));
    if (comparison?.kind === "corpora") shareBoxes(...shown.halves.map((half) => half.planes));
    halves.replaceChildren(...shown.halves.map((half) => half.element));
    move();
  }

  function makeHalf({ exploration, uses }, number, labels, isLinked) {
    const title = element("h2", {}, `${exploration.model.name} · ${exploration.corpus.name}`);
    if (!uses) {
      return { exploration, uses, element: element("section", {}, title, element("p", {}, `“${state.get("word")}” does not occur here.`)) };
    }
    const styles = styleLabels(labels, uses.uses.length, page.isDark());
    const half = { exploration, uses, styles };
    const targets = () => (isLinked ? shown.halves : [half]);
    const hover = (use, scrolls) => targets().forEach((one) => { one.scatter?.highlight(use); one.concordance?.highlight(use, scrolls); });
    const pick = (picked) => targets().forEach((one) => { one.picked = picked; one.scatter?.setPicked(picked); one.concordance?.setPicked(picked); });
    half.picked = new Set();
    half.scatter = new Scatter({ hover: (use) => hover(use, true), pick }, (use) => {
      const { left, word: keyword, right } = keywordInContext(exploration, uses.uses[use]);
      return [`${left} `, element("b", {}, keyword), ` ${right}`];
    });
    half.concordance = new Concordance(
      {
        hover: (use) => hover(use, false),
        toggle: (use) => { const next = new Set(half.picked); if (!next.delete(use)) next.add(use); pick(next); },
        clear: () => pick(new Set()),
        neighbours: () => {},
      },
      () => false,
    );
    half.planes = new Planes(uses.layers);
    half.element = element("section", { class: `side side-${number}` }, title, half.scatter.element,
      legend(styles, (label) => pick(new Set(styles.ofUse.flatMap((one, use) => (one === label ? [use] : []))))),
      half.concordance.element);
    half.scatter.show(half.planes, styles, `${grouped(uses.uses.length)} uses of ${uses.word}, ${exploration.model.name}, ${exploration.corpus.name}`);
    half.concordance.show(exploration, uses, styles);
    half.concordance.setPicked(half.picked);
    return half;
  }

  function move() {
    const layer = Number(state.get("layer"));
    slider.set(layer);
    for (const half of shown.halves) {
      if (!half.uses) continue;
      const last = half.exploration.model.layers.length - 1;
      half.scatter.setLayer(Math.min(layer, last), half.exploration.model.layers);
    }
    facts.replaceChildren(...comparisonFacts(shown.comparison, Math.round(layer)));
  }

  function picture() {
    const parts = shown.halves.filter((half) => half.uses).map((half) =>
      half.scatter.picture(`“${half.uses.word}”: ${half.exploration.model.name} · ${half.exploration.corpus.name}`));
    const width = parts.reduce((sum, part) => sum + Number(part.getAttribute("width")), 0);
    const height = Math.max(...parts.map((part) => Number(part.getAttribute("height"))));
    const svg = svgElement("svg", { width, height });
    svg.append(svgElement("rect", { width, height, fill: getComputedStyle(root).getPropertyValue("--paper").trim() }));
    let x = 0;
    for (const part of parts) {
      part.setAttribute("x", x);
      x += Number(part.getAttribute("width"));
      svg.append(part);
    }
    return svg;
  }

  function rows() {
    const layer = Math.round(Number(state.get("layer")));
    const found = [["model", "corpus", "word", "layer", "x", "y", "left", "keyword", "right"]];
    for (const { exploration, uses } of shown.halves) {
      uses?.uses.forEach((spot, use) => {
        const { left, word: keyword, right } = keywordInContext(exploration, spot);
        const here = Math.min(layer, uses.layers.length - 1);
        found.push([exploration.model.name, exploration.corpus.name, uses.word, exploration.model.layers[here], ...uses.layers[here].points[use], left, keyword, right]);
      });
    }
    return found;
  }

  return {
    element: root,
    update(changed) {
      if (!changed || changed.has("word") || changed.has("theme")) load();
      else if (shown && changed.has("layer")) move();
    },
  };
}

/** Senses have the same colours on both sides; clusters were induced apart, so they have none. */
function sharedLabels(sides) {
  const given = sides.map(({ uses }) => uses?.labels.find((labels) => labels.kind === "sense"));
  const names = [...new Set(given.flatMap((labels) => labels?.names ?? []))];
  const corpora = [...new Set(sides.map(({ exploration }) => exploration.corpus.name))];
  return sides.map(({ exploration, uses }, number) => {
    if (!uses) return null;
    if (!names.length) return { kind: "corpus", names: corpora, of_use: uses.uses.map(() => corpora.indexOf(exploration.corpus.name)) };
    const labels = given[number];
    return { kind: "sense", names, of_use: uses.uses.map((_, use) => (labels && labels.of_use[use] >= 0 ? names.indexOf(labels.names[labels.of_use[use]]) : -1)) };
  });
}

function comparisonFacts(comparison, layer) {
  const value = comparison?.layers[layer];
  if (value === undefined || value === null) return [comparison ? "At this layer there is nothing to compare." : ""];
  return comparison.kind === "models"
    ? ["How far the two models agree on which uses are alike (correlation over all pairs): ", element("b", {}, value.toFixed(2)), "."]
    : ["Cosine of the mean vectors of the word in the two corpora: ", element("b", {}, value.toFixed(2)), ". Both lie in one plane, so places can be compared."];
}
