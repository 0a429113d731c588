// Controls that several views share.

import { element } from "./elements.js";
import { swatch } from "./concordance.js";

const STEP = 0.02;

/** A slider over the layers; between two layers if isSmooth. onchange(layer) while it moves. */
export function layerSlider(names, isSmooth, onchange) {
  const last = names.length - 1;
  const input = element("input", {
    type: "range", min: 0, max: last, step: isSmooth ? STEP : 1, "aria-label": "Layer", class: "layers",
    oninput: () => onchange(Number(input.value)),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step || !isSmooth || event.shiftKey) return;
      event.preventDefault(); // a key goes to the next layer; with Shift a little towards it
      const here = Number(input.value);
      glide(input, step > 0 ? Math.floor(here + 1) : Math.ceil(here - 1), last, onchange);
    },
  });
  const marks = names.map((name, layer) =>
    element("button", {
      type: "button", class: "mark", style: `left:${last ? (100 * layer) / last : 0}%`,
      onclick: () => (isSmooth ? glide(input, layer, last, onchange) : onchange(layer)),
    }, name),
  );
  const node = element("div", { class: "slider" }, input, element("div", { class: "marks" }, marks));
  return {
    element: node,
    set(layer) {
      input.value = layer;
      input.setAttribute("aria-valuetext", names[Math.round(layer)]);
      marks.forEach((mark, number) => mark.classList.toggle("here", number === Math.round(layer)));
    },
  };
}

/** Move there in a third of a second, unless the reader asks for less motion. */
function glide(input, target, last, onchange) {
  const goal = Math.max(0, Math.min(last, target));
  const from = Number(input.value);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    onchange(goal);
    return;
  }
  const started = performance.now();
  function frame(now) {
    const share = Math.min(1, (now - started) / 350);
    const eased = share * share * (3 - 2 * share);
    onchange(share === 1 ? goal : from + eased * (goal - from));
    if (share < 1) requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
}

/** A box to type a word or a sentence into, with what there is to choose from. */
export function textBox({ id, label, options, placeholder, onchange }) {
  const input = element("input", { type: "text", id, list: `${id}-list`, placeholder, autocomplete: "off", spellcheck: "false" });
  let last = "";
  const commit = () => {
    const text = input.value.trim();
    if (text && text !== last) onchange(text);
  };
  input.addEventListener("change", commit);
  // A choice from the list needs no Enter.
  input.addEventListener("input", () => options.includes(input.value) && commit());
  input.addEventListener("focus", () => input.select());
  const list = element("datalist", { id: `${id}-list` }, options.map((value) => element("option", { value })));
  return {
    element: element("label", { class: "field", for: id }, element("span", {}, label), input, list),
    set(text) {
      last = text;
      if (document.activeElement !== input || !input.value) input.value = text;
    },
  };
}

/** One of a few. options: [[value, text], ...]. */
export function segments(label, options, onchange) {
  const buttons = new Map(options.map(([value, text]) => [
    value,
    element("button", { type: "button", "data-value": value, onclick: () => onchange(value) }, text),
  ]));
  return {
    element: element("div", { class: "segments", role: "group", "aria-label": label }, ...buttons.values()),
    set(value) {
      for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(name === value));
    },
  };
}

/** Names of the colours; a click picks all uses of one. */
export function legend(styles, onpick) {
  return element(
    "ul",
    { class: "legend" },
    styles.entries.map((entry, number) => entry.count > 0 &&
      element("li", {}, element(
        "button",
        { type: "button", title: "Pick all of these", onclick: () => onpick(number) },
        swatch(entry), `${entry.name} `, element("span", { class: "quiet" }, String(entry.count)),
      )),
    ),
  );
}
