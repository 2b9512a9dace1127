// The stages in the order of the walk, and how stages are drawn under one set of choices.

import { element } from "../dom.js";
import { alignment } from "./alignment.js";
import { crossAttention, heads, mask, projections, scores, softmax, weightedSum } from "./attention.js";
import { beamSearch } from "./beam.js";
import { embedding, tokens } from "./input.js";
import { addAndNorm, feedForward } from "./layer.js";
import { chosenToken, logits } from "./output.js";
import { View } from "./view.js";

export const walk = [tokens, embedding, projections, scores, mask, softmax, weightedSum, heads, addAndNorm, feedForward, crossAttention,
  alignment, logits, chosenToken, beamSearch];

// The same stages in sections, each under one set of choices. Cross-attention is one of the choices there.
export const sections = {
  Tokens: [tokens], Alignment: [alignment], Input: [embedding], Heads: [heads],
  "One layer": [projections, scores, mask, softmax, weightedSum, addAndNorm, feedForward], Steps: [logits, chosenToken], Beam: [beamSearch],
};

const PARTS = [["encoder.self_attention", "encoder, on the source"], ["decoder.self_attention", "decoder, on the target"],
  ["decoder.cross_attention", "cross, target to source"]];
const counted = (length) => Array.from({ length }, (_, at) => [at, String(at)]);

// What a reader can choose: the name of the setting, its present value, and the options.
const CHOICES = {
  stack: (view) => ["part", view.part, PARTS.slice(0, 2)],
  attention: (view) => ["part", view.part, PARTS],
  layer: (view) => ["layer", view.layer, counted(view.layers)],
  head: (view) => ["head", view.head, counted(view.config.heads)],
  show: (view) => ["show", view.show, [["weights", "weights"], ["scores", "scores"]]],
  step: (view) => ["step", view.step, view.trace.steps.map((step, at) => [at, `${step.chosen.text}${step.differs ? " ≠" : ""}`])],
};

const choicesOf = (stages) => [...new Set(stages.flatMap((stage) => stage.choices))].filter((name) => name !== "stack" || stages.length === 1);

// Whether stages look different after these settings have changed.
export const dependOn = (stages, settings) =>
  choicesOf(stages).some((name) => (name in { stack: 1, attention: 1 } ? "part" : name) in settings);

// Fills `body` with a heading, the choices and the stages. `choose` is called with the settings that a reader changes.
export function drawStages(body, heading, stages, { trace, chosen, choose }) {
  const focused = document.activeElement?.dataset?.control;
  const views = stages.map((stage) => new View(stage, trace, chosen, choose, body.clientWidth));
  const choice = (name) => {
    const [setting, present, options] = CHOICES[name](views[0]);
    return element("fieldset", { class: "choice" }, element("legend", {}, name), ...options.map(([value, text]) => element("label", {},
      element("input", { type: "radio", name: `${body.id}-${name}`, value, "data-control": `${body.id}-${name}-${value}`,
        checked: value === present, onchange: () => choose({ [setting]: value }) }), element("span", {}, text))));
  };
  body.replaceChildren(heading, element("div", { class: "choices" }, ...choicesOf(stages).map(choice)),
    ...stages.flatMap((stage, at) => [stages.length > 1 && element("h3", { class: "stage-name" }, stage.name), ...stage.draw(views[at])])
      .filter(Boolean));
  if (focused) body.querySelector(`[data-control="${focused}"]:not(:disabled)`)?.focus();
}
