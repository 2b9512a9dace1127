// The parts of an encoder-decoder in the order of the computation: what the map draws, and where "you are here" is.

const SUBLAYERS = { encoder: ["self_attention", "feed_forward"], decoder: ["self_attention", "cross_attention", "feed_forward"] };
const TEXTS = { self_attention: "Self-attention", cross_attention: "Cross-attention", feed_forward: "Feed-forward" };
const NORMS = { layer: "Layer norm", rms: "RMS norm", batch: "Batch norm" };
const POSITIONS = { sinusoidal: "+ Sinusoidal positions", learned: "+ Learned positions" };

export const textOf = (stack, sublayer) => (stack === "decoder" && sublayer === "self_attention" ? "Masked self-attention" : TEXTS[sublayer]);
export const normOf = (config) => NORMS[config.norm];
export const layersOf = (config, stack) => config[`${stack}_layers`];
export const isAttention = (sublayer) => sublayer.endsWith("attention");

// The parts of a stack from the bottom up: the stage that each opens, its text, its kind, and how it stands in a layer.
export function partsOf(stack, config) {
  const pre = config.norm_place === "pre";
  const norm = normOf(config);
  const sublayer = (name) => [
    pre && { stage: `${stack}.${name}.norm`, text: norm, kind: "norm", opens: true },
    { stage: `${stack}.${name}.${isAttention(name) ? "projections" : "network"}`, text: textOf(stack, name), opens: !pre, sublayer: name,
      kind: isAttention(name) ? "attention" : "feed-forward", about: config.positions === "rotary" && name === "self_attention" ? "rotary positions" : "" },
    { stage: `${stack}.${name}.residual`, text: pre ? "Add" : `Add & ${norm.toLowerCase()}`, kind: "norm", adds: true },
  ].filter(Boolean);
  return [
    { stage: `${stack}.input`, text: "Embedding", kind: "embedding", matrix: matrixOf(stack === "encoder" ? "source" : "target", config) },
    POSITIONS[config.positions] && { stage: `${stack}.input`, text: POSITIONS[config.positions], kind: "position" },
    config.embedding_norm && { stage: `${stack}.input`, text: norm, kind: "norm" },
    ...SUBLAYERS[stack].flatMap(sublayer).map((part) => ({ ...part, inLayer: true })),
    pre && { stage: `${stack}.output`, text: norm, kind: "norm" },
    ...(stack === "decoder" ? [
      { stage: "output.logits", text: "Linear", kind: "linear", matrix: matrixOf("output", config) },
      { stage: "output.probabilities", text: "Softmax", kind: "softmax" },
    ] : []),
  ].filter(Boolean);
}

// Which matrix a side uses: equal names are one matrix.
export function matrixOf(side, config) {
  if (config.tie === "all") return "E";
  if (config.tie === "decoder" && side === "output") return "E_target";
  return { source: "E_source", target: "E_target", output: "W_output" }[side];
}

// Whether a part of the map is where the reader is. Every stage of an attention but its norm and residual is in its box.
export function isHere(part, stage, config) {
  if (part.stage === stage) return true;
  if (config.norm_place === "post" && part.stage === stage.replace(".output", ".feed_forward.residual")) return true; // the output is what the last layer gives
  if (stage === "output.beam") return part.stage === "output.probabilities";
  const block = (id) => id.split(".").slice(0, 2).join(".");
  return Boolean(part.sublayer) && block(part.stage) === block(stage) && !/\.(norm|residual)$/.test(stage);
}
