// The page: a header, five views, and what is shown in the URL.

import { element, grouped } from "./parts/elements.js";
import { createState } from "./parts/state.js";
import { askServer, NotFound, Source } from "./parts/source.js";
import { expectationsView } from "./views/expectations.js";
import { neighboursView } from "./views/neighbours.js";
import { sidesView } from "./views/sides.js";
import { similarityView } from "./views/similarity.js";
import { usesView } from "./views/uses.js";

const VIEWS = [
  ["uses", "Uses", usesView, "All uses of a word, layer by layer"],
  ["expected", "Expected words", expectationsView, "What the model expects at each place of a sentence"],
  ["similarity", "Two sentences", similarityView, "How alike all pairs of words are"],
  ["neighbours", "Neighbours", neighboursView, "The nearest uses, and the nearest words without context"],
  ["sides", "Side by side", sidesView, "Two models, or two corpora"],
];
const KEYS = [
  ["1 … 5", "go to a view"],
  ["/", "type a word or a sentence"],
  ["← →", "on the slider: to the next layer (with Shift: a little); on the map: to the next point"],
  ["Enter", "pick a point or a line"],
  ["Esc", "drop what is picked"],
  ["drag", "lasso; with Shift, add to what is picked"],
  ["?", "this help"],
];

function start(data, root) {
  const source = new Source(data);
  const state = createState({
    view: "uses", word: firstWord(source), layer: source.layers.length - 1, colour: "", picked: "",
    text: "", way: "all", a: "", b: "", token: "", theme: "",
  });
  const page = { source, state, isDark: () => isDark(state), attempt, refuse };
  const tabs = makeTabs(state);
  const body = element("main", { id: "view" });
  const help = makeHelp();
  root.replaceChildren(makeHeader(data, state, help), tabs.element, body, makeFooter(data), help);

  let view = null;
  function update(changed) {
    applyTheme(state);
    if (!changed || changed.has("view")) {
      const [, , make] = VIEWS.find(([name]) => name === state.get("view")) ?? VIEWS[0];
      view = make(page);
      body.replaceChildren(view.element);
      tabs.set(state.get("view"));
      view.update(null);
    } else view.update(changed);
  }
  state.subscribe(update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.update(new Set(["theme"])));
  document.addEventListener("keydown", (event) => onKey(event, state, help));
  update(null);
}

/** The apples, if they are there: the page opens on them. */
function firstWord(source) {
  return source.words.includes("apple") ? "apple" : (source.words[0] ?? "");
}

/** The result of work, or undefined after a message in the view. */
async function attempt(root, work) {
  root.querySelector(":scope > .notice")?.remove();
  const timer = setTimeout(() => root.classList.add("waiting"), 200);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    root.prepend(element("p", { class: "notice", role: "alert" }, error.message));
    return undefined;
  } finally {
    clearTimeout(timer);
    root.classList.remove("waiting");
  }
}

function refuse(message) {
  throw new NotFound(message);
}

function makeHeader(data, state, help) {
  const { model, corpus } = data.explorations[0];
  const theme = element("button", { type: "button", class: "small", title: "Light or dark", onclick: () =>
    state.set({ theme: isDark(state) ? "light" : "dark" }) }, "◐");
  theme.setAttribute("aria-label", "Light or dark");
  const keys = element("button", { type: "button", class: "small", title: "Keys", "aria-label": "Keyboard help", onclick: () => help.showModal() }, "?");
  return element(
    "header",
    {},
    element("h1", {}, data.title),
    element("p", { class: "quiet" }, `${model.name} reads ${corpus.name}: ${grouped(corpus.num_tokens)} tokens in ${grouped(corpus.num_sentences)} sentences${corpus.is_cut ? ", the first part of the text" : ""}`),
    element("div", { class: "header-buttons" }, theme, keys),
  );
}

function makeTabs(state) {
  const buttons = VIEWS.map(([name, text, , title]) =>
    element("button", {
      type: "button", role: "tab", id: `tab-${name}`, title, "aria-controls": "view",
      onclick: () => state.set({ view: name }, true),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = (VIEWS.findIndex(([one]) => one === name) + step + VIEWS.length) % VIEWS.length;
        state.set({ view: VIEWS[next][0] }, true);
        buttons[next].focus();
      },
    }, text));
  return {
    element: element("nav", { role: "tablist", "aria-label": "Views" }, buttons),
    set(view) {
      for (const button of buttons) {
        const isHere = button.id === `tab-${view}`;
        button.setAttribute("aria-selected", String(isHere));
        button.tabIndex = isHere ? 0 : -1;
        if (isHere) button.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    },
  };
}

function makeHelp() {
  const dialog = element("dialog", { "aria-label": "Keys" },
    element("h2", {}, "Keys"),
    element("dl", {}, KEYS.map(([key, text]) => [element("dt", {}, key), element("dd", {}, text)])),
    element("form", { method: "dialog" }, element("button", { class: "small" }, "Close")));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

function makeFooter(data) {
  const { corpus } = data.explorations[0];
  const parts = [
    `At most ${grouped(corpus.most_uses)} uses per word; more are sampled (seed ${corpus.seed}).`,
    "Maps: two principal components per layer, turned towards the layer above, each layer scaled to the same size.",
    data.is_live ? "Answers come from the server that sent this page." : "All data are in this file; nothing is fetched or sent.",
  ];
  const links = data.is_live ? [" ", element("a", { href: "docs" }, "Documentation of the server"), "."] : [];
  return element("footer", { class: "quiet" }, parts.join(" "), links);
}

function onKey(event, state, help) {
  const isTyping = event.target.closest?.("input[type=text], select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (isTyping) event.target.blur();
    else state.set({ picked: "" });
  } else if (isTyping) return;
  else if (VIEWS[Number(event.key) - 1]) state.set({ view: VIEWS[Number(event.key) - 1][0] }, true);
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#view input[type=text]")?.focus();
  } else if (event.key === "?") help.showModal();
}

function isDark(state) {
  return state.get("theme") ? state.get("theme") === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function applyTheme(state) {
  if (state.get("theme")) document.documentElement.dataset.theme = state.get("theme");
  else delete document.documentElement.dataset.theme;
}

/** A page of a server holds no data yet: it asks for what it opens on. */
async function open(data, root) {
  if (data.explorations.length) return start(data, root);
  root.replaceChildren(element("p", { class: "opening quiet" }, "The model is reading …"));
  const answer = await attempt(root, () => askServer({}));
  return answer && start(answer, root);
}

open(JSON.parse(document.getElementById("exploration").textContent), document.getElementById("app"));
