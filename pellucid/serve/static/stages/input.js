// The walk up to the first layer: tokens, then vectors that know their position.

import { element } from "../heatmap.js";
import { equation, figures, text } from "../view.js";

export const tokens = {
  name: "Tokens",
  choices: [],
  draw({ trace, config }) {
    const chips = (of) => element("ol", { class: "chips" }, ...of.map((token) => element("li", {}, token.text, element("small", {}, token.id))));
    const size = config.vocabulary || config.source_vocabulary;
    return [
      text(`A text becomes tokens: pieces from a vocabulary of ${size}, each with a number. ▁ is a space. The encoder reads the source, with ` +
        "a token for its end; the decoder reads the target so far, from a token for its start."),
      equation(["text", [trace.text.length]], "→", ["source", [trace.source_tokens.length]]),
      element("h3", {}, "The encoder reads"), chips(trace.source_tokens),
      element("h3", {}, "The decoder reads"), chips(trace.target_in),
      element("h3", {}, "and says, at each of these positions"), chips(trace.target_out),
    ];
  },
};

export const embedding = {
  name: "Embedding + position",
  choices: ["stack"],
  draw(view) {
    const { config, chosen } = view;
    const words = chosen.stack === "encoder" ? view.source : view.target;
    const of = (name) => view.value(`${chosen.stack}.input.${name}`);
    const [shape, added] = [of("output").shape, of("position")];
    const scale = config.embedding_scale ? "√d_{model} · " : "";
    const about = {
      sinusoidal: "Its position is added as sines and cosines of many wavelengths, so that the order of the tokens is not lost.",
      learned: "Its position has a learned vector, which is added.",
      rotary: "Positions are not added here: queries and keys are turned by them later.",
      none: "This model adds no positions.",
    }[config.positions];
    return [
      text(`Each token is a row of the embedding, a table of ${config.d_model} features for every token of the vocabulary. ${about}`),
      equation(["X", shape], "=", ...(config.embedding_norm ? [`${view.norm()}(`] : []), [`${scale}E_{token}`, shape],
        ...(added ? ["+", ["P", shape]] : []), ...(config.embedding_norm ? [")"] : [])),
      figures(
        view.vectors(of("embedding"), words, `${scale}E_{token}`, { note: "embedding" }),
        view.vectors(added, words, "P", { note: `${config.positions} positions` }),
        added || config.embedding_norm ? view.vectors(of("output"), words, "X", { note: "what the first layer sees" }) : null,
      ),
    ];
  },
};
