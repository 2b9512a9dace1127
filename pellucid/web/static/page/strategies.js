// Greedy search, beam search, top-k and top-p sampling side by side on the same text.

import { post } from "./api.js";
import { element, number, place } from "../dom.js";
import { report, request, session } from "./session.js";

const MOST_WORDS = 1000; // of a text that is compared: the work grows with the square
const settings = { beam: 5, k: 10, p: 0.9, temperature: 1, seed: 1 };
const sampled = () => ({ strategy: "sample", temperature: settings.temperature, seed: settings.seed });

const STRATEGIES = [
  { name: "Greedy", about: "The likeliest token at every step.", body: () => ({ strategy: "greedy" }) },
  { name: "Beam", about: "The best of several hypotheses.", setting: "beam", body: () => ({ strategy: "beam", beam: settings.beam }) },
  { name: "Top-k", about: "Sampled from the k likeliest tokens.", setting: "k", body: () => ({ ...sampled(), top_k: settings.k }) },
  { name: "Top-p", about: "Sampled from the fewest tokens that hold probability p.", setting: "p", body: () => ({ ...sampled(), top_p: settings.p }) },
];

// Fills its card and returns the function that compares.
export function startStrategies() {
  const { beam_limit: widest } = session.model.limits;
  const bounds = { beam: [1, widest < 0 ? 50 : widest, 1], k: [1, 1000, 1], p: [0.05, 1, 0.05], temperature: [0.1, 2, 0.1] };
  settings.beam = Math.min(settings.beam, bounds.beam[1]);
  let comparing = new AbortController();
  const outputs = STRATEGIES.map(() => element("div", { class: "output", dir: "auto" }));
  const input = (name) => element("label", {}, `${name} `, element("input", { type: "number", value: settings[name],
    min: bounds[name][0], max: bounds[name][1], step: bounds[name][2], onchange: ({ target }) => {
      if (!target.reportValidity()) return;
      settings[name] = target.valueAsNumber;
      compare();
    } }));
  const again = element("button", { type: "button", class: "plain", onclick: () => { settings.seed += 1; compare(); } }, "Draw again");
  const column = ({ name, about, setting }, at) => element("section", { class: "strategy", "aria-label": name },
    element("h3", {}, name), setting && input(setting), element("p", { class: "quiet" }, about), outputs[at]);
  place("strategies").append(element("div", { class: "columns" }, ...STRATEGIES.map(column)),
    element("div", { class: "settings" }, input("temperature"), again, element("span", { class: "quiet" }, "for the two that sample")));

  async function compare() {
    comparing.abort();
    comparing = new AbortController();
    try {
      const found = await Promise.all(STRATEGIES.map(({ body }) => post("/api/translate", { ...request(), ...body() }, comparing.signal)));
      found.forEach(({ text, score, tokens }, at) => outputs[at].replaceChildren(element("p", {}, ...marked(text, found[0].text)),
        element("small", {}, `${score === null ? "" : `score ${number(score)} · `}${tokens.length} tokens`)));
    } catch (error) {
      report(error);
    }
  }
  return compare;
}

// A text with the words marked that are not in a longest common subsequence with another text.
function marked(text, other) {
  const [mine, theirs] = [text, other].map((each) => each.split(/(\s+)/));
  if (Math.max(mine.length, theirs.length) > MOST_WORDS) return [text];
  const lengths = Array.from({ length: mine.length + 1 }, () => new Uint16Array(theirs.length + 1)); // of what follows
  for (let i = mine.length - 1; i >= 0; i -= 1) for (let j = theirs.length - 1; j >= 0; j -= 1) {
    lengths[i][j] = mine[i] === theirs[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  }
  let j = 0;
  return mine.map((word, i) => {
    while (lengths[i][j] === lengths[i][j + 1]) j += 1; // without that word of theirs as much is common
    const shared = lengths[i][j] > lengths[i + 1][j];
    if (shared) j += 1;
    return shared || !word.trim() ? word : element("mark", {}, word);
  });
}
