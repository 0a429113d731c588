// What is shown lives in the URL after the #, so that a view can be linked to and gone back to.

/** "view=uses&word=bank" -> {view: "uses", word: "bank"}; names that are not in defaults are left out. */
export function readHash(hash, defaults) {
  const found = { ...defaults };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (Object.hasOwn(defaults, name)) found[name] = value;
  }
  return found;
}

/** The inverse; what has its default value is left out. */
export function writeHash(values, defaults) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (String(value) !== String(defaults[name])) parameters.set(name, value);
  }
  return parameters.toString();
}

/** Values by name; whoever subscribes is told the names of those that changed. */
export function createState(defaults) {
  let values = readHash(location.hash, defaults);
  const listeners = [];

  function change(next) {
    const changed = Object.keys(defaults).filter((name) => String(values[name]) !== String(next[name]));
    values = next;
    if (changed.length) for (const listener of listeners) listener(new Set(changed));
  }

  function remember(isStep) {
    const hash = writeHash(values, defaults);
    const url = hash ? `#${hash}` : location.pathname + location.search;
    try {
      if (isStep) history.pushState(null, "", url);
      else history.replaceState(null, "", url);
    } catch {
      // A page inside a notebook has no address of its own: the state is then in memory alone.
    }
  }

  window.addEventListener("popstate", () => change(readHash(location.hash, defaults)));
  window.addEventListener("hashchange", () => change(readHash(location.hash, defaults)));
  return {
    get: (name) => values[name],
    /** isStep: the browser's back button undoes it. */
    set(changes, isStep = false) {
      const next = { ...values, ...changes };
      if (writeHash(next, defaults) === writeHash(values, defaults)) return;
      const before = values;
      values = next;
      remember(isStep);
      values = before;
      change(next);
    },
    subscribe: (listener) => listeners.push(listener),
  };
}
