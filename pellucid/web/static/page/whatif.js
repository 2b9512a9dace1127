// What if: a part is switched off, two words change places, a word of the translation is forced; and what comes of it.

import { element, paragraph, refocus } from "../dom.js";
import { comparison, described, inWords, wordsOf } from "../trace/comparison.js";

// What can be switched off, by how its name ends; the first that fits.
const KINDS = [
  [/\.head\.\d+$/, "a head"], [/\.mask$/, "the causal mask"], [/\.scale$/, "the division by √d"], [/positions$/, "the positions"],
  [/\.residual$/, "a residual connection"], [/\.norm$/, "a norm"], [/\.feed_forward$/, "a feed-forward network"],
  [/attention$/, "an attention"], [/layers\.\d+$/, "a whole layer"],
];
const EVERY = { "a head": null, "the causal mask": "mask", "the division by √d": "scale", "the positions": "positions", "a residual connection": "residual",
  "a norm": "norm", "a feed-forward network": "feed_forward" };
const OTHER = "another part";
const kindOf = (name) => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? OTHER;

const select = (label, options, attributes = {}) => element("label", {}, element("span", {}, label), " ",
  element("select", { "aria-label": label, ...attributes }, ...options.map(([value, text]) => element("option", { value }, text))));
const fieldOf = (label) => label.querySelector("select, input");

let drawn = ""; // what the controls were made for: they keep what is typed while only the stage changes

// Fills the panel. `go` changes the settings of the address.
export function drawWhatIf(panel, trace, settings, go) {
  const active = (settings.intervene ?? "").split(" ").filter(Boolean);
  const key = JSON.stringify([trace.text, trace.translation, active]);
  const body = element("div", { class: "what-if" });
  if (active.length) panel.open = true;
  const change = (interventions) => go({ intervene: interventions.join(" "), side: "" });
  const kept = drawn === key && panel.querySelector(".controls");
  drawn = key;
  const changes = element("ul", { class: "changes", "aria-label": "Active changes" }, ...active.map((each) => element("li", {}, described(each, trace),
    element("button", { type: "button", class: "plain", "aria-label": `Undo: ${described(each, trace)}`, onclick: () => change(active.filter((other) => other !== each)) }, "×"))),
  active.length > 1 && element("li", {}, element("button", { type: "button", class: "plain", onclick: () => change([]) }, "Undo all")));
  const controls = kept || makeControls(trace, (intervention) => change([...active.filter((each) => each !== intervention), intervention]));
  body.append(paragraph("Change a part of the model or of the sentence. The translation is searched again, and everything below is computed with the change."), controls,
    active.length ? changes : "", ...(trace.changed ? [comparison(panel.clientWidth, trace, settings, go)] : []));
  const focused = document.activeElement?.dataset?.control;
  panel.replaceChildren(element("summary", {}, element("h2", {}, "What if …"), element("span", { class: "quiet" },
    active.length ? active.map((each) => described(each, trace)).join("; ") : "switch a part off, swap two words, force a word")), body);
  refocus(panel, focused);
}

function makeControls(trace, add) {
  const kinds = new Map([...KINDS.map(([, kind]) => kind), OTHER].map((kind) => [kind, trace.switches.filter((name) => kindOf(name) === kind)]).filter(([, names]) => names.length));
  const what = select("Switch off", [...kinds.keys()].map((kind) => [kind, kind]), { onchange: () => offer() });
  const which = select("Which", []);
  const offer = () => {
    const [kind, names] = [fieldOf(what).value, kinds.get(fieldOf(what).value)];
    const every = EVERY[kind] && names.length > 1 ? [[EVERY[kind], "every one"]] : [];
    fieldOf(which).replaceChildren(...[...every, ...names.map((name) => [name, inWords(name)])].map(([value, text]) => element("option", { value }, text)));
  };
  offer();
  const [source, target] = [wordsOf(trace.text), wordsOf(trace.translation)].map((words) => words.map((word, at) => [at, word]));
  const [first, second] = [select("Swap", source), select("with", source)];
  if (source.length > 1) fieldOf(second).value = "1";
  const place = select("Instead of", target);
  const word = element("label", {}, element("span", {}, "say"), " ", element("input", { type: "text", "aria-label": "Word to force", size: 12, spellcheck: false, autocomplete: "off", required: true }));
  const form = (label, fields, intervention) => element("form", { onsubmit: (event) => { event.preventDefault(); add(intervention()); } }, ...fields,
    element("button", { type: "submit", class: "plain" }, label));
  return element("div", { class: "controls" },
    form("Switch off", [what, which], () => `${fieldOf(which).value}=0`),
    source.length > 1 && form("Swap", [first, second], () => `swap=${fieldOf(first).value},${fieldOf(second).value}`),
    target.length > 0 && form("Force", [place, word], () => `target.${fieldOf(place).value}=${fieldOf(word).value.trim().replace(/\s.*/s, "")}`));
}
