// The stages before the first layer: tokens, then embeddings and positions.

import { element, paragraph } from "../dom.js";
import { equation, figures, stage } from "./view.js";

export const tokens = stage("Tokens", [], ({ trace, config }) => {
  const chips = (heading, all) => [element("h3", {}, heading), element("ol", { class: "chips" },
    ...all.map((token, at) => element("li", { title: `token ${token.id}, position ${at}` }, token.text, element("small", {}, token.id))))];
  return [
    paragraph(`The tokenizer splits the text into tokens from a vocabulary of ${config.vocabulary || config.source_vocabulary}; each has an ` +
      "id, and ▁ stands for a space. The encoder reads a language tag (if the model has tags), the source and an end token; the decoder a start token and the target."),
    equation(["text", [trace.text.length]], "→", ["source", [trace.source_tokens.length]]),
    ...chips("Input of the encoder", trace.source_tokens),
    ...chips("Input of the decoder", trace.target_in),
    ...chips("Output token at each of these positions", trace.target_out),
  ];
});

const POSITIONS = {
  sinusoidal: "Positions are added as sines and cosines of many wavelengths, so that the order of the tokens is known.",
  learned: "A learned vector for its position is added.",
  rotary: "Positions are not added here: attention rotates queries and keys by them.",
  none: "This model adds no positions.",
};

export const embedding = stage("Embedding + position", ["stack"], (view) => {
  const { config, queries } = view;
  const input = (name) => view.trace.values[`${view.stack}.input.${name}`];
  const [shape, added] = [input("output").shape, input("position")];
  const scaled = `${config.embedding_scale ? "√d_{model} · " : ""}E_{token}`;
  return [
    paragraph(`Each token is looked up in the embedding matrix, which has ${config.d_model} features for every token of the ` +
      `vocabulary. ${POSITIONS[config.positions]}`),
    equation(["X", shape], "=", ...(config.embedding_norm ? [`${view.norm}(`] : []), [scaled, shape],
      ...(added ? ["+", ["P", shape]] : []), ...(config.embedding_norm ? [")"] : [])),
    figures(
      view.vectors(input("embedding"), queries, scaled, "embedding"),
      view.vectors(added, queries, "P", `${config.positions} positions`),
      (added || config.embedding_norm) && view.vectors(input("output"), queries, "X", "input of the first layer")),
  ];
});
