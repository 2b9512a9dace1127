// The end of the walk: from the decoder's last vectors to a token.

import { element, number, percent } from "../heatmap.js";
import { equation, figures, text } from "../view.js";

export const logits = {
  name: "Logits",
  choices: ["step"],
  draw(view) {
    const { config, trace, chosen } = view;
    const step = trace.steps[chosen.step];
    const vocabulary = config.vocabulary || config.target_vocabulary;
    const shape = [view.target.length, config.d_model];
    return [
      text("The last vector of a position is compared with the vector of every token of the vocabulary. That gives a logit for each; " +
        "softmax makes them probabilities, whose logarithms are the logits less one constant. At the chosen step these came first:"),
      equation(["logits", [view.target.length, vocabulary]], "=", ["Y", shape], ["E^T", [config.d_model, vocabulary]],
        ...(config.output_bias ? ["+", ["b", [vocabulary]]] : [])),
      element("div", { class: "side" },
        figures(view.vectors(view.value("decoder.output"), view.target, "Y", { note: "what the decoder hands on" })),
        table(["token", "", "probability", "ln p"], step.candidates.map((candidate) => [candidate.text, bar(candidate.probability),
          percent(candidate.probability), number(Math.log(candidate.probability))]), (at) => step.candidates[at].id === step.chosen.id)),
    ];
  },
};

export const chosenToken = {
  name: "Chosen token",
  choices: ["step"],
  draw({ trace, chosen }) {
    const step = trace.steps[chosen.step];
    const names = { greedy: () => "greedy", top_k: (pool) => `top-k ${pool.setting}`, top_p: (pool) => `top-p ${pool.setting}` };
    const rank = step.rank ? `number ${step.rank + 1} of the vocabulary` : "the likeliest of all";
    const differs = step.differs ? ` The ${trace.engine} engine alone would have preferred ${step.engine.text} (${percent(step.engine.probability)}).` : "";
    const pools = table(["rule", "draws from", "which hold", "chance of the chosen one"], step.pools.map((pool) => [names[pool.rule](pool),
      `${pool.size} token${pool.size > 1 ? "s" : ""}`, percent(pool.probability), step.rank < pool.size ? percent(step.chosen.probability / pool.probability) : "none"]));
    const lens = table(["layer", "likeliest", "second", "third", "the chosen one"], step.lens.map((reading) => [String(reading.layer),
      ...reading.candidates.map((each) => `${each.text}  ${percent(each.probability)}`), percent(reading.probability)]));
    const finished = table(["score", "hypothesis"], trace.beam.finished.map((each) => [number(each.score), each.text]), (at) => at === 0);
    return [
      text(element("strong", { class: "chosen" }, step.chosen.text), ` was chosen: ${rank}, with ${percent(step.chosen.probability)}. ` +
        `The choice was open by ${step.entropy.toFixed(2)} bits.${differs} It becomes the next token the decoder reads, and the walk begins again.`),
      equation(["p", []], "=", "e^{logit}", "/", "Σ", "e^{logits}", "=", String(number(step.chosen.probability))),
      element("h3", {}, "What each rule would draw from"), pools,
      element("h3", {}, "What each layer would have said, had it been the last"), lens,
      element("h3", {}, `What a beam of ${trace.beam.width} found in the end`), finished,
    ];
  },
};

function bar(share) {
  const made = element("span", { class: "bar" });
  made.style.width = `${Math.max(0.5, 100 * share)}%`;
  return made;
}

function table(headings, rows, isChosen = () => false) {
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": headings.filter(Boolean).join(", ") }, element("table", {},
    element("thead", {}, element("tr", {}, ...headings.map((heading) => element(heading ? "th" : "td", heading ? { scope: "col" } : {}, heading)))),
    element("tbody", {}, ...rows.map((cells, at) => element("tr", { class: isChosen(at) ? "said" : null },
      ...cells.map((cell) => element("td", {}, cell)))))));
}
