// The stages after the last layer: the logits, and the next token step by step.

import { element, number, paragraph, percent, table } from "../dom.js";

const RULES = { greedy: () => "greedy", top_k: (pool) => `top-k ${pool.setting}`, top_p: (pool) => `top-p ${pool.setting}` };
const rule = (pool) => RULES[pool.rule](pool);

export function bar(share) {
  const made = element("span", { class: "bar" });
  made.style.width = `${Math.max(0.5, 100 * share)}%`;
  return made;
}

// A step: what the decoder has read so far, and its distribution over the token that comes next.
export function drawStep(view) {
  const { trace, step } = view;
  const { chosen, rank, entropy, pools, lens, differs, engine, candidates } = trace.steps[step];
  const engineNote = differs ? ` ≠ The likeliest token of the ${trace.engine} engine is ${engine.text} (${percent(engine.probability)}).` : "";
  const predicted = ({ id, text, probability }) => element("span", { class: id === chosen.id ? "chosen" : null }, `${text}  ${percent(probability)}`);
  const reading = (of) => [String(of.layer), ...of.candidates.map(predicted), `${percent(of.probability)}, rank ${of.rank + 1}`];
  const share = (candidate, at, pool) => (at < pool.size ? percent(candidate.probability / pool.probability) : "");
  return [
    paragraph("The decoder reads its own output so far and gives a probability to every token of the vocabulary. One is chosen, and is read " +
      "at the next step, until the end token comes."),
    ...view.equations(),
    soFar(view),
    paragraph(element("strong", { class: "chosen" }, chosen.text), ` is the output token of step ${step}: rank ${rank + 1} of the ` +
      `vocabulary, probability ${percent(chosen.probability)}. Entropy: ${entropy.toFixed(2)} bits.${engineNote}`),
    table(["token", "", "probability", "ln p", ...pools.map(rule)], candidates.map((candidate, at) => [
      candidate.text, bar(candidate.probability), opens(view, candidate), number(Math.log(candidate.probability)),
      ...pools.map((pool) => share(candidate, at, pool))]), candidates.findIndex((candidate) => candidate.id === chosen.id)),
    element("h3", {}, "What each decoding rule draws from"),
    table(["rule", "tokens", "their probability", "probability to draw the output token"], pools.map((pool) => [rule(pool), String(pool.size),
      percent(pool.probability), percent(rank < pool.size ? chosen.probability / pool.probability : 0)])),
    element("h3", {}, "Logit lens: the prediction of each decoder layer"),
    table(["layer", "likeliest", "second", "third", "output token"], lens.map(reading)),
  ];
}

const opens = (view, candidate) => (view.open ? element("button", { type: "button", class: "operand", "aria-label": `Open the probability of ${candidate.text}, ${percent(candidate.probability)}`,
  onclick: () => view.open("output.probabilities", [view.step, candidate.id]) }, percent(candidate.probability)) : percent(candidate.probability));

// All steps in a row, each with the probability of its token; those before the chosen one have been read.
function soFar({ trace, step, choose }) {
  return element("ol", { class: "chips so-far", "aria-label": "Steps" }, element("li", { class: "read" }, trace.target_in[0].text, element("small", {}, "start")),
    ...trace.steps.map((each, at) => element("li", { class: at < step ? "read" : at === step ? "next" : "later" }, element("button", { type: "button",
      "data-control": `step-${at}`, "aria-current": at === step ? "step" : "false", "aria-label": `step ${at}: ${each.chosen.text}, ${percent(each.chosen.probability)}`,
      onclick: () => choose({ step: at }) }, `${each.chosen.text}${each.differs ? " ≠" : ""}`, element("small", {}, percent(each.chosen.probability)), bar(each.chosen.probability)))));
}
