// A trace beside the one of a changed model or sentence: both translations, the probabilities of the tokens, one attention.

import { element, number, percent, table } from "../dom.js";
import { ATTENTIONS } from "./attention.js";
import { bar } from "./output.js";
import { View } from "./view.js";

// encoder.layers.2.self_attention.head.1 in words.
export const inWords = (name) => name.replace("layers.", "layer ").replace(/head\.(\d+)/, "head $1").replaceAll(".", ", ").replaceAll("_", "-")
  .replace(/^./, (letter) => letter.toUpperCase());

// An intervention in words.
export function described(intervention, trace) {
  const [name, value] = intervention.split(/=(.*)/s);
  const words = wordsOf(trace.text);
  if (name === "swap") return `“${value.split(",").map((at) => words[at] ?? at).join("” and “")}” change places`;
  if (name.startsWith("target.")) return `word ${Number(name.split(".")[1]) + 1} of the translation is “${value}”`;
  return `without ${inWords(name).replace(/^./, (letter) => letter.toLowerCase())}`;
}

export const wordsOf = (text) => text.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];

// The original and the changed translation, with the probabilities of their tokens and the attention of one head.
export function comparison(width, trace, settings, go) {
  const { changed } = trace;
  const sides = [["Original", trace], ["Changed", changed]];
  const score = (of) => of.scores.findLast((each) => each.engine === "reference")?.score;
  const choice = element("fieldset", { class: "choice" }, element("legend", {}, "below, walk through"), ...[["", "the changed model"], ["original", "the original"]].map(([value, text]) =>
    element("label", {}, element("input", { type: "radio", name: "side", value, "data-control": `side-${value}`, checked: value === (settings.side ?? ""), onchange: () => go({ side: value }) }), element("span", {}, text))));
  const rows = trace.steps.map((step, at) => {
    const now = changed.original_probabilities?.[at];
    return [step.chosen.text, bar(step.chosen.probability), percent(step.chosen.probability), now === undefined ? "" : bar(now), now === undefined ? "" : percent(now)];
  });
  return element("div", { class: "compared" },
    element("div", { class: "columns" }, ...sides.map(([title, of]) => element("section", { "aria-label": title }, element("h3", {}, title),
      element("p", { class: `output${title === "Changed" && of.translation !== trace.translation ? " differs" : ""}` }, of.translation),
      element("small", { class: "quiet" }, score(of) === undefined ? "" : `score ${number(score(of))}, by the reference in float64`)))),
    element("h3", {}, "The tokens of the original translation"),
    table(["token", "", "probability", "", "with the change"], rows),
    element("h3", {}, "Attention"), attentionBeside(width, trace, settings), choice);
}

// One head before and after: of the attention whose mask or scale was changed, or of the stage that is read; else of the
// cross-attention, where what was changed before it is seen.
function attentionBeside(width, trace, settings) {
  const names = [...trace.changed.interventions.map((each) => each.split("=")[0]).filter((name) => /\.(mask|scale)$/.test(name)), settings.stage ?? ""];
  const part = Object.keys(ATTENTIONS).find((each) => names.some((name) => name.startsWith(each.split(".")[0]) && name.includes(each.split(".")[1]))) ?? "decoder.cross_attention";
  const [, changed] = names[0].match(/layers\.(\d+)/) ?? [];
  const stack = part.split(".")[0];
  const layers = trace.config[`${stack}_layers`];
  const chosen = { layer: Number(changed ?? settings.layer ?? layers - 1), head: Number(settings.head ?? 0), step: 0, show: "weights", part, cell: [] };
  const shown = [["original", trace], ["changed", trace.changed]].map(([title, of]) => {
    const view = new View({ id: part, formulas: [], choices: [], stack, layers }, of, chosen, {}, width);
    return view.value(view.attention("weights", part), { beside: 2, title: `${title}, layer ${view.layer}, head ${view.head}`, note: ATTENTIONS[part] });
  });
  return element("div", { class: "figures" }, ...shown);
}
