// What every stage of the walk draws, and how it is drawn under one set of choices.

import { element, paragraph } from "../dom.js";
import { about } from "./about.js";
import { drawAlignment } from "./alignment.js";
import { drawHeads, weightLines } from "./attention.js";
import { drawBeam } from "./beam.js";
import { drawMap, facts } from "./map.js";
import { drawStep } from "./output.js";
import { View } from "./view.js";

function drawTokens({ trace, config }) {
  const chips = (heading, all) => [element("h3", {}, heading), element("ol", { class: "chips" },
    ...all.map((token, at) => element("li", { title: `token ${token.id}, position ${at}` }, token.text, element("small", {}, token.id))))];
  return [
    paragraph(`The tokenizer splits the text into tokens from a vocabulary of ${config.vocabulary || config.source_vocabulary}; each has an ` +
      "id, and ▁ stands for a space. The encoder reads a language tag (if the model has tags), the source and an end token; the decoder a start token and the target."),
    ...chips("Input of the encoder", trace.source_tokens),
    ...chips("Input of the decoder", trace.target_in),
    ...chips("Output token at each of these positions", trace.target_out),
  ];
}

// The map with what the model is beside it.
function drawSurvey({ trace, config, href, layer, head }) {
  const drawn = drawMap(config, { trace, href: (stage) => href({ stage }), layer, head });
  return [
    paragraph("The Transformer as the paper draws it, for this model and this sentence: it is read from below. Choose a part to open its stage."),
    element("div", { class: "survey" }, drawn, element("div", {}, element("h3", {}, "This model"), facts(config))),
  ];
}

const computed = (view) => [paragraph(about(view)), ...view.equations(), view.pictures()];

const DRAW = {
  map: drawSurvey, tokens: drawTokens, probabilities: drawStep, beam: drawBeam, heads: drawHeads, alignment: drawAlignment,
  softmax: (view) => [...computed(view), element("h3", {}, `Head ${view.head} as lines`), weightLines(view, view.attention("weights"))],
};

const counted = (length) => Array.from({ length }, (_, at) => [at, String(at)]);

// What a reader can choose: the present value, and the options.
const CHOICES = {
  layer: (view) => [view.layer, counted(view.stage.layers ?? Math.max(view.config.encoder_layers, view.config.decoder_layers))],
  head: (view) => [view.head, counted(view.config.heads)],
  show: (view) => [view.chosen.show, [["weights", "weights"], ["scores", "scores"]]],
  step: (view) => [view.step, view.trace.steps.map((_, at) => [at, view.trace.labels.decoder[at]])],
};
const CHOSEN_IN_PICTURE = { heads: ["layer", "head"], probabilities: ["step"] };

// Fills `body` with a heading, the choices and the stage. `host` has what a reader changes the state with.
export function drawStage(body, heading, stage, trace, chosen, host) {
  const view = new View(stage, trace, chosen, host, body.clientWidth);
  const choice = (name) => {
    const [present, options] = CHOICES[name](view);
    return element("fieldset", { class: "choice" }, element("legend", {}, name), ...options.map(([value, text]) => element("label", {},
      element("input", { type: "radio", name, value, "data-control": `${name}-${value}`, checked: value === present, onchange: () => host.choose({ [name]: value }) }),
      element("span", {}, text))));
  };
  const choices = stage.choices.filter((name) => !CHOSEN_IN_PICTURE[stage.step]?.includes(name));
  body.replaceChildren(...heading, element("div", { class: "choices" }, ...choices.map(choice)), ...(DRAW[stage.step] ?? computed)(view).filter(Boolean));
}
