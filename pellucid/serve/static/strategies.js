// Greedy, beam, top-k and top-p side by side on the same sentence.

import { givenUp, post } from "./api.js";
import { way } from "./directions.js";
import { element, number } from "./heatmap.js";

const MOST_WORDS = 1000; // that are compared; the work is their square
const settings = { beam: 5, k: 10, p: 0.9, temperature: 1, seed: 1 };

const ways = [
  { name: "Greedy", about: "Always the likeliest token.", body: () => ({ strategy: "greedy" }) },
  { name: "Beam", about: "The likeliest sentence of several kept alive.", knobs: ["beam"], body: () => ({ strategy: "beam", beam: settings.beam }) },
  { name: "Top-k", about: "Drawn from the k likeliest tokens.", knobs: ["k"], body: () => ({ ...drawn(), top_k: settings.k }) },
  { name: "Top-p", about: "Drawn from the fewest tokens that hold p of the probability.", knobs: ["p"], body: () => ({ ...drawn(), top_p: settings.p }) },
];

const drawn = () => ({ strategy: "sample", temperature: settings.temperature, seed: settings.seed });

// Fills its card and returns the function that compares.
export function startStrategies(session) {
  const { beam_limit: widest } = session.model.limits;
  const bounds = { beam: [1, widest < 0 ? 50 : widest, 1], k: [1, 1000, 1], p: [0.05, 1, 0.05], temperature: [0.1, 2, 0.1] };
  settings.beam = Math.min(settings.beam, bounds.beam[1]);
  let work = new AbortController();
  const answers = new Map(ways.map((each) => [each, element("div", { class: "said", dir: "auto" })]));
  const knob = (name) => element("label", {}, `${name} `, element("input", { type: "number", value: settings[name],
    min: bounds[name][0], max: bounds[name][1], step: bounds[name][2], onchange: (event) => {
      if (!event.target.checkValidity()) return event.target.reportValidity();
      settings[name] = event.target.valueAsNumber;
      return compare();
    } }));
  const again = element("button", { type: "button", class: "plain", onclick: () => { settings.seed += 1; compare(); } }, "Draw again");
  document.getElementById("strategies").append(
    element("div", { class: "columns" }, ...ways.map((each) => element("section", { class: "way", "aria-label": each.name },
      element("h3", {}, each.name), ...(each.knobs || []).map(knob), element("p", { class: "quiet" }, each.about), answers.get(each)))),
    element("div", { class: "knobs" }, knob("temperature"), again, element("span", { class: "quiet" }, "for the two that draw")));

  async function compare() {
    work.abort();
    work = new AbortController();
    const asked = { text: session.text, ...way(session) };
    try {
      const found = await Promise.all(ways.map((each) => post("/api/translate", { ...asked, ...each.body() }, work.signal)));
      ways.forEach((each, at) => {
        const score = found[at].score === null ? "" : `score ${number(found[at].score)} · `;
        answers.get(each).replaceChildren(element("p", {}, ...marked(found[at].text, found[0].text)),
          element("small", {}, `${score}${found[at].tokens.length} tokens`));
      });
    } catch (fault) {
      if (!givenUp(fault)) session.tell(fault);
    }
  }
  return compare;
}

// A text with the words marked that another one does not have in this order.
export function marked(text, other) {
  const [mine, theirs] = [text, other].map((each) => each.split(/(\s+)/));
  if (Math.max(mine.length, theirs.length) > MOST_WORDS) return [text];
  const shared = common(mine, theirs);
  return mine.map((word, at) => (shared.has(at) || !word.trim() ? word : element("mark", {}, word)));
}

// The places in `mine` of a longest common subsequence.
function common(mine, theirs) {
  const lengths = Array.from({ length: mine.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = mine.length - 1; i >= 0; i -= 1) for (let j = theirs.length - 1; j >= 0; j -= 1) {
    lengths[i][j] = mine[i] === theirs[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  }
  const places = new Set();
  for (let i = 0, j = 0; i < mine.length && j < theirs.length;) {
    if (mine[i] === theirs[j]) { places.add(i); i += 1; j += 1; } else if (lengths[i + 1][j] >= lengths[i][j + 1]) i += 1; else j += 1;
  }
  return places;
}
