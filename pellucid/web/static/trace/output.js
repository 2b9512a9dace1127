// The stages after the last layer: from logits to probabilities, and to the output token.

import { element, number, paragraph, percent, table } from "../dom.js";
import { equation, figures, stage } from "./view.js";

const RULES = { greedy: () => "greedy", top_k: (pool) => `top-k ${pool.setting}`, top_p: (pool) => `top-p ${pool.setting}` };
const rule = (pool) => RULES[pool.rule](pool);

export const logits = stage("Logits", ["step"], (view) => {
  const { config, target } = view;
  const { candidates, chosen, pools } = view.trace.steps[view.step];
  const vocabulary = config.vocabulary || config.target_vocabulary;
  const share = (candidate, at, pool) => (at < pool.size ? percent(candidate.probability / pool.probability) : "");
  return [
    paragraph("The decoder's output at a position is multiplied with the vector of every token of the vocabulary, which gives a logit for " +
      "each. Softmax turns the logits into probabilities; their logarithms are the logits minus one constant. The likeliest tokens at the " +
      "chosen step, with the probability that each decoding rule draws them:"),
    equation(["logits", [target.length, vocabulary]], "=", ["Y", [target.length, config.d_model]], ["E^T", [config.d_model, vocabulary]],
      ...(config.output_bias ? ["+", ["b", [vocabulary]]] : [])),
    element("div", { class: "side" },
      figures(view.vectors(view.trace.values["decoder.output"], target, "Y", "output of the decoder")),
      table(["token", "", "probability", "ln p", ...pools.map(rule)], candidates.map((candidate, at) => [
        candidate.text, bar(candidate.probability), percent(candidate.probability), number(Math.log(candidate.probability)),
        ...pools.map((pool) => share(candidate, at, pool))]), candidates.findIndex((candidate) => candidate.id === chosen.id))),
  ];
});

function bar(share) {
  const made = element("span", { class: "bar" });
  made.style.width = `${Math.max(0.5, 100 * share)}%`;
  return made;
}

export const chosenToken = stage("Chosen token", ["step"], ({ trace, step }) => {
  const { chosen, rank, entropy, pools, lens, differs, engine } = trace.steps[step];
  const engineNote = differs ? ` ≠ The likeliest token of the ${trace.engine} engine is ${engine.text} (${percent(engine.probability)}).` : "";
  const predicted = ({ id, text, probability }) => element("span", { class: id === chosen.id ? "chosen" : null }, `${text}  ${percent(probability)}`);
  const reading = (of) => [String(of.layer), ...of.candidates.map(predicted), `${percent(of.probability)}, rank ${of.rank + 1}`];
  return [
    paragraph(element("strong", { class: "chosen" }, chosen.text), ` is the output token of step ${step + 1}: rank ${rank + 1} of the ` +
      `vocabulary, probability ${percent(chosen.probability)}. Entropy: ${entropy.toFixed(2)} bits.${engineNote} The decoder reads it next.`),
    equation(["p", []], "=", "e^{logit}", "/", "Σ", "e^{logits}", "=", number(chosen.probability)),
    element("h3", {}, "What each decoding rule draws from"),
    table(["rule", "tokens", "their probability", "probability to draw the output token"], pools.map((pool) => [rule(pool), String(pool.size),
      percent(pool.probability), percent(rank < pool.size ? chosen.probability / pool.probability : 0)])),
    element("h3", {}, "Logit lens: the prediction of each decoder layer"),
    table(["layer", "likeliest", "second", "third", "output token"], lens.map(reading)),
  ];
});
