// View 2: two-dimensional text. A sentence across; under each word, what the model expected there.

import { segments, textBox } from "../parts/controls.js";
import { downloadButtons } from "../parts/download.js";
import { element, joined, svgElement } from "../parts/elements.js";

const WAYS = [
  ["forward", "forward", "--way-forward", "by what precedes"],
  ["backward", "backward", "--way-backward", "by what follows"],
  ["both", "both", "--way-both", "by the whole context"],
];
const FONT = "system-ui, sans-serif";
const [BAR_HEIGHT, MOST_BITS, SIDE] = [84, 20, 136];

/** Font size of a word of that probability: its area grows with it. */
export function fontSize(probability) {
  return 10.5 + 15 * Math.sqrt(probability);
}

export function expectationsView(page) {
  const { source, state } = page;
  let shown = null;
  const texts = source.sentences.map(joined);
  const sentence = textBox({
    id: "sentence", label: "Sentence", options: texts, placeholder: "a sentence",
    onchange: (text) => state.set({ text }, true),
  });
  sentence.element.classList.add("wide");
  const way = segments("Direction", [["all", "all three"], ...WAYS.map(([name, text]) => [name, text])], (value) => state.set({ way: value }));
  const field = element("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Expected words, one column per word of the sentence" });
  const downloads = downloadButtons(() => "elmokit expected words", () => draw(true), rows);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "toolbar" }, sentence.element, way.element, downloads),
    field,
    element("p", { class: "facts" }, "Bars: surprisal of the word that stands there, in bits. Below: the words that the model expected before it had read that word; the larger, the likelier. The word itself is underlined where the model had it among its first guesses."),
  );

  function draw(isPicture) {
    const look = getComputedStyle(root);
    return drawText(shown, state.get("way"), (name) => look.getPropertyValue(name).trim(), isPicture);
  }

  function rows() {
    const { tokens } = shown.exploration.sentences[shown.item.sentence];
    const found = [["place", "token", "direction", "surprisal_bits", "rank", "expected", "probability"]];
    shown.item.tokens.forEach((here, place) => WAYS.forEach(([name], number) =>
      here[name].forEach((guess, rank) =>
        found.push([place + 1, tokens[place], name, here.bits[number], rank + 1, guess.word, guess.probability]))));
    return found;
  }

  async function load() {
    const wanted = state.get("text") || texts[0] || "";
    sentence.set(wanted);
    way.set(state.get("way"));
    const found = await page.attempt(root, async () => {
      if (!source.main.model.can_predict) page.refuse(`${source.main.model.name} has no softmax, so it expects no words. Give it one with elmokit finetune.`);
      return source.expectations(wanted);
    });
    if (!found || wanted !== (state.get("text") || texts[0])) return;
    shown = found;
    field.replaceChildren(draw(false));
  }

  return {
    element: root,
    update(changed) {
      if (!changed || changed.has("text")) load();
      else if (shown && (changed.has("way") || changed.has("theme"))) {
        way.set(state.get("way"));
        field.replaceChildren(draw(false));
      }
    },
  };
}

let ruler = null;

function textWidth(text, size, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

function drawText({ exploration, item }, chosen, colour, isPicture) {
  const { tokens } = exploration.sentences[item.sentence];
  const ways = WAYS.filter(([name]) => chosen === "all" || chosen === name);
  const perWay = chosen === "all" ? 5 : 8;
  const columns = item.tokens.map((here, place) => {
    const widths = ways.flatMap(([name]) => here[name].slice(0, perWay).map((guess) => textWidth(guess.word, fontSize(guess.probability))));
    return Math.max(46, textWidth(tokens[place], 18, 650), ...widths) + 18;
  });
  const heights = ways.map(([name]) => 14 + Math.max(...item.tokens.map((here) =>
    here[name].slice(0, perWay).reduce((sum, guess) => sum + lineHeight(guess), 0))));
  const top = 20;
  const wordLine = top + BAR_HEIGHT + 30;
  const width = SIDE + columns.reduce((sum, one) => sum + one, 0) + 8;
  const height = wordLine + 14 + heights.reduce((sum, one) => sum + one, 0) + 4;
  const svg = svgElement("svg", { width: Math.ceil(width), height: Math.ceil(height), "font-family": FONT, fill: colour("--ink"), role: "img", "aria-label": describe(tokens, item) });
  if (isPicture) svg.append(svgElement("rect", { width: "100%", height: "100%", fill: colour("--paper") }));
  drawSides(svg, ways, heights, wordLine, top, width, colour);
  let x = SIDE;
  item.tokens.forEach((here, place) => {
    const middle = x + columns[place] / 2;
    drawBars(svg, here, ways, middle, top + BAR_HEIGHT, colour);
    svg.append(svgElement("text", { x: middle, y: wordLine, "text-anchor": "middle", "font-size": 18, "font-weight": 650, class: "token" }, tokens[place]));
    let y = wordLine + 14;
    ways.forEach(([name, , tint], number) => {
      drawGuesses(svg, here[name].slice(0, perWay), tokens[place], middle, y + 8, colour(tint));
      y += heights[number];
    });
    x += columns[place];
  });
  return svg;
}

const lineHeight = (guess) => fontSize(guess.probability) * 1.25;

function drawSides(svg, ways, heights, wordLine, top, width, colour) {
  const quiet = { "font-size": 12, fill: colour("--quiet") };
  svg.append(svgElement("text", { x: 4, y: top + 16, "font-size": 13, "font-weight": 650 }, "surprisal"));
  for (const bits of [0, 10, 20]) {
    const y = Math.round(top + BAR_HEIGHT * (1 - bits / MOST_BITS)) + 0.5;
    svg.append(svgElement("line", { x1: SIDE - 12, x2: width, y1: y, y2: y, stroke: colour("--line"), "stroke-dasharray": bits ? "2 4" : null }));
    svg.append(svgElement("text", { x: SIDE - 18, y: y + 4, "text-anchor": "end", ...quiet, "font-size": 11 }, bits === 20 ? "20 bits" : bits));
  }
  let y = wordLine + 14;
  ways.forEach(([, text, tint, reason], number) => {
    svg.append(svgElement("line", { x1: 0, x2: width, y1: y + 0.5, y2: y + 0.5, stroke: colour("--line") }));
    svg.append(svgElement("text", { x: 4, y: y + 22, "font-size": 13, "font-weight": 650, fill: colour(tint) }, text));
    svg.append(svgElement("text", { x: 4, y: y + 39, ...quiet, "font-size": 11.5 }, reason));
    y += heights[number];
  });
}

function drawBars(svg, here, ways, middle, base, colour) {
  const wide = ways.length > 1 ? 9 : 20;
  ways.forEach(([name, , tint], index) => {
    const bits = here.bits[WAYS.findIndex(([one]) => one === name)];
    const x = middle + (index - ways.length / 2) * (wide + 2) + 1;
    if (bits === null) {
      if (index === 0) svg.append(svgElement("text", { x: middle, y: base - 6, "text-anchor": "middle", "font-size": 11, fill: colour("--quiet") }, "unknown"));
      return;
    }
    const tall = Math.max(1, (BAR_HEIGHT * Math.min(bits, MOST_BITS)) / MOST_BITS);
    svg.append(svgElement("rect", { x, y: base - tall, width: wide, height: tall, rx: 1.5, fill: colour(tint), class: "bar" },
      svgElement("title", {}, `${name}: ${bits.toFixed(1)} bits`)));
    if (ways.length === 1) {
      svg.append(svgElement("text", { x: x + wide / 2, y: base - tall - 4, "text-anchor": "middle", "font-size": 11, fill: colour("--quiet") }, bits.toFixed(1)));
    }
  });
}

function drawGuesses(svg, guesses, token, middle, top, tint) {
  let y = top;
  for (const guess of guesses) {
    y += lineHeight(guess);
    const isToken = guess.word === token;
    svg.append(svgElement(
      "text",
      {
        x: middle, y: y - 4, "text-anchor": "middle", "font-size": fontSize(guess.probability).toFixed(1), class: "guess",
        "text-decoration": isToken ? "underline" : null, "font-weight": isToken ? 650 : 400,
        fill: isToken ? tint : null, opacity: isToken ? 1 : 0.55 + 0.45 * Math.sqrt(guess.probability),
      },
      guess.word,
      svgElement("title", {}, `${guess.word}: ${(100 * guess.probability).toPrecision(2)} %`),
    ));
  }
}

/** For those who cannot see it. */
function describe(tokens, item) {
  return item.tokens.map((here, place) => {
    const bits = here.bits[2];
    return `${tokens[place]}: ${bits === null ? "not in the vocabulary" : `${bits.toFixed(1)} bits`}; expected ${here.both.slice(0, 3).map((guess) => guess.word).join(", ")}`;
  }).join(". ");
}
