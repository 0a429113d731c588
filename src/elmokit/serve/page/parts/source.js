// Where a view's data come from: the document in the page, or else a server that makes the same kind.

/** Something the user can be told: not in this page, or what the server says. */
export class NotFound extends Error {}

const KEY = "elmokit-api-key";

export class Source {
  constructor(data, ask = askServer) {
    this.data = data;
    this.ask = ask;
    this.main = data.explorations[0];
    this.answers = new Map();
  }

  get layers() {
    return this.main.model.layers;
  }

  /** Words of this page; with a server, more can be typed. */
  get words() {
    return this.main.words.map((uses) => uses.word);
  }

  get suggestions() {
    return [...new Set([...this.words, ...(this.data.is_live ? this.main.corpus.common_words : [])])];
  }

  /** Sentences of this page, as text tokens. */
  get sentences() {
    const numbers = new Set(this.main.similarities.map((pair) => pair.first));
    return [...numbers].map((number) => this.main.sentences[number].tokens);
  }

  /** {exploration, uses} of a word. */
  async word(word) {
    const found = usesIn(this.main, word);
    if (found) return found;
    this.#requireServer(`“${word}” is not among the words of this page`);
    return usesIn((await this.#get({ words: [word] })).explorations[0], word);
  }

  /** {exploration, item}: what the model expects at each place of a sentence. */
  async expectations(text) {
    const find = (exploration) => {
      const item = exploration.expectations.find((one) => isText(exploration, one.sentence, text));
      return item && { exploration, item };
    };
    const found = find(this.main);
    if (found) return found;
    this.#requireServer("That sentence is not in this page");
    const exploration = (await this.#get({ sentences: [text] })).explorations[0];
    return { exploration, item: exploration.expectations[0] };
  }

  /** {exploration, item}: similarities of all tokens of two sentences; rows belong to the first. */
  async similarity(first, second) {
    const found = pairIn(this.main, first, second);
    if (found) return found;
    this.#requireServer("One of these sentences is not in this page");
    const exploration = (await this.#get({ sentences: [first, second] })).explorations[0];
    const numbers = exploration.similarities;
    // All pairs come back, each sentence with itself first: the second is the one asked for.
    return { exploration, item: numbers.length > 1 ? numbers[1] : numbers[0] };
  }

  /** {exploration, item}: the neighbours of a token. */
  async neighbours(tokens, place) {
    const find = (exploration) => {
      const item = exploration.neighbours.find(
        (one) => one.place === place && sameTokens(exploration.sentences[one.sentence].tokens, tokens),
      );
      return item && { exploration, item };
    };
    const found = find(this.main);
    if (found) return found;
    this.#requireServer("The neighbours of this use are not in this page");
    return find((await this.#get({ near: [{ tokens, place }] })).explorations[0]);
  }

  /** Has this page the neighbours of that token? */
  hasNeighbours(exploration, spot) {
    return (
      this.data.is_live ||
      exploration.neighbours.some((one) => one.sentence === spot.sentence && one.place === spot.place)
    );
  }

  /** {sides: [{exploration, uses}, ...], comparison} of a word in two explorations. */
  async sides(word) {
    let data = this.data;
    if (!data.explorations.some((one) => usesIn(one, word))) {
      this.#requireServer(`“${word}” is not among the words of this page`);
      data = await this.#get({ words: [word], both_sides: true });
    }
    return {
      sides: data.explorations.map((one) => usesIn(one, word) ?? { exploration: one, uses: null }),
      comparison: data.comparisons.find((one) => one.word === word) ?? null,
    };
  }

  #requireServer(problem) {
    if (!this.data.is_live) throw new NotFound(problem);
  }

  async #get(wanted) {
    const key = JSON.stringify(wanted);
    if (!this.answers.has(key)) {
      if (this.answers.size > 50) this.answers.delete(this.answers.keys().next().value);
      const answer = this.ask(wanted);
      this.answers.set(key, answer);
      answer.catch(() => this.answers.delete(key));
    }
    return this.answers.get(key);
  }
}

function usesIn(exploration, word) {
  const lower = word.toLowerCase();
  const uses = exploration.words.find((one) => one.word.toLowerCase() === lower);
  return uses && { exploration, uses };
}

function pairIn(exploration, first, second) {
  for (const item of exploration.similarities) {
    if (isText(exploration, item.first, first) && isText(exploration, item.second, second)) {
      return { exploration, item };
    }
    if (isText(exploration, item.first, second) && isText(exploration, item.second, first)) {
      const layers = item.layers.map((rows) => rows[0].map((_, column) => rows.map((row) => row[column])));
      return { exploration, item: { first: item.second, second: item.first, layers } };
    }
  }
  return null;
}

/** Spaces and the tokeniser's cuts do not matter. */
function isText(exploration, number, text) {
  return exploration.sentences[number].tokens.join("") === text.replace(/\s+/g, "");
}

function sameTokens(ours, theirs) {
  return ours.length === theirs.length && ours.every((token, place) => token === theirs[place]);
}

export async function askServer(wanted) {
  const key = sessionStorage.getItem(KEY);
  const headers = { "content-type": "application/json" };
  if (key) headers.authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch("v1/explore", { method: "POST", headers, body: JSON.stringify(wanted) });
  } catch {
    throw new NotFound("The server does not answer.");
  }
  if (response.status === 401) {
    const given = window.prompt("This server asks for its API key:");
    if (given) {
      sessionStorage.setItem(KEY, given);
      return askServer(wanted);
    }
  }
  const answer = await response.json();
  if (!response.ok) throw new NotFound(answer.error?.message ?? `The server answered ${response.status}.`);
  return answer;
}
