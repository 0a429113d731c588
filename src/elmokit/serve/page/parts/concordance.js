// Keyword in context: one row per use, the word in the middle.

import { element, grouped, joined, svgElement } from "./elements.js";
import { styleOf } from "./palette.js";
import { shapePath } from "./shapes.js";

const AROUND = 24;

/** {left, word, right} of a token in its sentence. */
export function keywordInContext(exploration, spot) {
  const { tokens } = exploration.sentences[spot.sentence];
  return {
    left: joined(tokens.slice(Math.max(0, spot.place - AROUND), spot.place)),
    word: tokens[spot.place],
    right: joined(tokens.slice(spot.place + 1, spot.place + 1 + AROUND)),
  };
}

/** A small coloured shape, as in the plot. */
export function swatch(style, size = 6) {
  return svgElement(
    "svg",
    { width: 2.6 * size, height: 2.6 * size, viewBox: "-8 -8 16 16", "aria-hidden": "true", class: "swatch" },
    svgElement("path", { d: shapePath(style.shape, size), fill: style.colour, "fill-rule": "evenodd" }),
  );
}

export class Concordance {
  /** on: {hover(use or null), toggle(use), clear(), neighbours(use)}; hasNeighbours(use). */
  constructor(on, hasNeighbours) {
    this.on = on;
    this.hasNeighbours = hasNeighbours;
    this.rows = new Map();
    this.sorting = "text";
    this.count = element("p", { class: "quiet", role: "status", "aria-live": "polite" });
    this.list = element("ol", { class: "concordance", onkeydown: (event) => this.#key(event) });
    this.choice = element(
      "select",
      { "aria-label": "Order of the lines", onchange: () => this.#sort(this.choice.value) },
      [["text", "in order of the text"], ["left", "by the word before"], ["right", "by the word after"], ["label", "by colour"]]
        .map(([value, text]) => element("option", { value }, text)),
    );
    this.clear = element("button", { type: "button", class: "small", hidden: true, onclick: () => on.clear() }, "Show all");
    this.element = element(
      "section",
      { class: "lines", "aria-label": "Concordance" },
      element("div", { class: "bar" }, this.count, this.clear, this.choice),
      this.list,
    );
  }

  show(exploration, uses, styles) {
    Object.assign(this, { exploration, uses, styles });
    this.rows = new Map(uses.uses.map((spot, use) => [use, this.#row(spot, use)]));
    this.#sort(this.sorting);
  }

  /** Only these, or all if there are none. */
  setPicked(picked) {
    this.picked = picked;
    for (const [use, row] of this.rows) {
      row.hidden = picked.size > 0 && !picked.has(use);
      row.setAttribute("aria-pressed", String(picked.has(use)));
    }
    const { num_found: found, uses } = this.uses;
    const shown = picked.size || uses.length;
    const all = found > uses.length ? `a sample of ${grouped(uses.length)} of ${grouped(found)} uses` : `${grouped(found)} ${found === 1 ? "use" : "uses"}`;
    this.count.textContent = picked.size ? `${grouped(shown)} picked of ${all}` : all;
    this.clear.hidden = picked.size === 0;
  }

  highlight(use, scrolls) {
    for (const [number, row] of this.rows) row.classList.toggle("hovered", number === use);
    if (use === null || !scrolls) return;
    const row = this.rows.get(use);
    const list = this.list.getBoundingClientRect();
    const box = row.getBoundingClientRect();
    if (box.top < list.top) this.list.scrollTop -= list.top - box.top + 8;
    else if (box.bottom > list.bottom) this.list.scrollTop += box.bottom - list.bottom + 8;
  }

  #row(spot, use) {
    const { left, word, right } = keywordInContext(this.exploration, spot);
    const style = styleOf(this.styles, use);
    const label = this.styles.entries[this.styles.ofUse[use]]?.name ?? "";
    const { document } = this.exploration.sentences[spot.sentence];
    const near = this.hasNeighbours(spot)
      ? element("button", {
          type: "button", class: "small more", title: "Neighbours of this use",
          onclick: (event) => { event.stopPropagation(); this.on.neighbours(use); },
        }, "near")
      : element("span");
    return element(
      "li",
      {
        role: "button", tabindex: 0, "data-use": use, "aria-pressed": "false",
        title: [label, document].filter(Boolean).join(" · "),
        onpointerenter: () => this.on.hover(use),
        onpointerleave: () => this.on.hover(null),
        onfocus: () => this.on.hover(use),
        onclick: () => this.on.toggle(use),
      },
      swatch(style, 5),
      element("span", { class: "left" }, element("span", {}, left)),
      element("b", {}, word),
      element("span", { class: "right" }, /^[.,;:!?)%'’]/.test(right) ? right : ` ${right}`),
      near,
    );
  }

  #sort(by) {
    this.sorting = by;
    const word = (use, step) => {
      const spot = this.uses.uses[use];
      return (this.exploration.sentences[spot.sentence].tokens[spot.place + step] ?? "").toLowerCase();
    };
    const key = {
      text: () => 0,
      left: (use) => word(use, -1),
      right: (use) => word(use, 1),
      label: (use) => (this.styles.ofUse[use] < 0 ? 99 : this.styles.ofUse[use]),
    }[by];
    const order = [...this.rows.keys()].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      return a < b ? -1 : a > b ? 1 : one - other;
    });
    this.list.replaceChildren(...order.map((use) => this.rows.get(use)));
  }

  #key(event) {
    const row = event.target.closest("li");
    if (!row || event.target !== row) return;
    if (event.key === "Enter" || event.key === " ") this.on.toggle(Number(row.dataset.use));
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const rows = [...this.list.children].filter((one) => !one.hidden);
      rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    } else return;
    event.preventDefault();
  }
}
