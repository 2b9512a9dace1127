// The stages of the walk, in the order in which the model computes: they are made of the formulas of the trace.

import { isAttention, layersOf, normOf, textOf } from "./parts.js";

const NAMES = {
  projections: "Queries, keys, values", scores: "Scores", mask: "Mask", softmax: "Softmax", weighted_sum: "Weighted sum",
  joined: "Heads joined", network: "Feed-forward", input: "Embedding and position", logits: "Logits", probabilities: "Next token",
};
const STEPS = { weights: "softmax", heads: "weighted_sum", output: "joined" };
const OF_HEAD = ["projections", "scores", "mask", "softmax", "weighted_sum"];
const special = (id, name, section, choices = []) => ({ id, name, section, block: "", step: id.split(".").at(-1), choices, formulas: [] });

// The stage that a formula belongs to.
export function stageOf({ stack, layer, sublayer, value, operation }, config) {
  if (value.startsWith("output.") || value === "alignment") return value;
  if (sublayer === "score") return "output.beam";
  if (layer === null) return `${stack}.${sublayer}`;
  const place = `${stack}.${sublayer}`;
  if (value.includes("_residual.")) return `${place}.${config.norm_place === "pre" && !value.endsWith(".sum") ? "norm" : "residual"}`;
  if (!isAttention(sublayer)) return `${place}.network`;
  if (operation === "scores" || operation === "mask") return `${place}.${operation}`;
  return `${place}.${STEPS[value.split(".").at(-1)] ?? "projections"}`;
}

// Every stage once; a stage that each layer has is that of all layers, and a reader chooses one.
export function walkOf(trace) {
  const { config } = trace;
  const stages = new Map([["map", special("map", "Map", "")], ["tokens", special("tokens", "Tokens", "Input")]]);
  const last = [special("output.beam", "Beam search", "Output", ["step"]), special("heads", "All heads", "Overview", ["layer", "head", "show"]),
    special("alignment", "Alignment", "Overview")];
  for (const formula of trace.formulas) {
    const id = stageOf(formula, config);
    if (!stages.has(id)) stages.set(id, last.find((stage) => stage.id === id) ?? stageFor(id, formula, config));
    stages.get(id).formulas.push(formula);
  }
  return [...[...stages.values()].filter((stage) => !last.includes(stage)), ...last];
}

function stageFor(id, { stack, sublayer, layer }, config) {
  const step = id.split(".").at(-1);
  const inLayer = layer !== null;
  const names = { ...NAMES, norm: normOf(config), output: config.norm_place === "pre" ? normOf(config) : "Output", residual: config.norm_place === "pre" ? "Add" : `Add & ${normOf(config).toLowerCase()}` };
  const choices = [inLayer && "layer", inLayer && isAttention(sublayer) && OF_HEAD.includes(step) && "head", id === "output.probabilities" && "step"];
  return {
    id, step, stack, sublayer: inLayer ? sublayer : null, name: names[step], formulas: [], choices: choices.filter(Boolean),
    section: id.startsWith("output.") ? "Output" : stack === "encoder" ? "Encoder" : "Decoder", block: inLayer ? textOf(stack, sublayer) : "",
    layers: inLayer ? layersOf(config, stack) : null,
  };
}

// Where a stage stands, in words: Decoder, layer 1, cross-attention.
export const placeOf = (stage, layer) =>
  [stage.section, stage.layers && `layer ${Math.min(layer, stage.layers - 1)} (0 to ${stage.layers - 1})`, stage.block].filter(Boolean);
