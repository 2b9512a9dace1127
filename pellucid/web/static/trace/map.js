// The map: the figure of the paper, drawn for one model and one sentence. Every part of it opens its stage.

import { element, percent, svg } from "../dom.js";
import { isHere, layersOf, partsOf } from "./parts.js";

const [BOX_WIDE, BOX_HIGH, BOX_GAP] = [188, 30, 15]; // pixels of a box, and between two
const [EDGE, BETWEEN] = [66, 74]; // beside the columns, and between them
const MOST_CELLS = 24; // positions of the attention that a box shows
const CENTRES = { encoder: EDGE + BOX_WIDE / 2, decoder: EDGE + BOX_WIDE + BETWEEN + BOX_WIDE / 2 };
const ALL = EDGE + BOX_WIDE + BETWEEN + BOX_WIDE + EDGE + 14;

// Both stacks, from the bottom up: y counts upwards here, and is turned over when it is drawn.
function arrange(config) {
  const stack = (name) => {
    let y = 44;
    return partsOf(name, config).map((part, at, all) => {
      if (at && part.inLayer && !all[at - 1].inLayer) y += 12; // room for the frame of the layer
      if (at && !part.inLayer && all[at - 1].inLayer) y += 12;
      y += BOX_HIGH + BOX_GAP;
      return { ...part, stack: name, x: CENTRES[name], y: y - BOX_HIGH / 2 };
    });
  };
  return { encoder: stack("encoder"), decoder: stack("decoder") };
}

const middle = (parts) => (parts[0].y + parts.at(-1).y) / 2;

// `href(stage)` is the address of a stage, `here` the stage the reader is at; without an address nothing can be opened.
export function drawMap(config, { trace = null, here = null, href = null, layer = 0, head = 0 } = {}) {
  const stacks = arrange(config);
  const all = [...stacks.encoder, ...stacks.decoder];
  const top = Math.max(...all.map((part) => part.y)) + BOX_HIGH / 2 + 52;
  const up = (y) => top - y; // drawn downwards
  const ends = { encoder: stacks.encoder.at(-1), cross: stacks.decoder.find((part) => part.sublayer === "cross_attention") };
  const between = CENTRES.encoder + BOX_WIDE / 2 + BETWEEN / 2;
  return svg("svg", { class: `map${href ? "" : " mini"}`, viewBox: `0 0 ${ALL} ${top}`, role: href ? "group" : null,
    "aria-label": href ? "Map of the model" : null, "aria-hidden": href ? null : "true" },
  ...Object.entries(stacks).flatMap(([name, parts]) => [frame(parts, config, name, up), ...flow(parts, up), ...residuals(parts, name, up)]),
  ...arrow(`M${CENTRES.encoder} ${up(ends.encoder.y + BOX_HIGH / 2)}v-16H${between}V${up(ends.cross.y)}`, CENTRES.decoder - BOX_WIDE / 2, up(ends.cross.y), "H"),
  ...ties(all, up),
  ...all.map((part) => box(part, { config, trace, href, here, layer, head, up })),
  ...(href ? words(config, trace, stacks, href, up) : []));
}

// A line to a point, which it reaches along H or V, with a tip. Arrows point up, or to the side they come from.
function arrow(line, x, y, along, from = -1) {
  const tip = along === "V" ? `M${x} ${y}l-3.5 7h7z` : `M${x} ${y}l${7 * from} -3.5v7z`;
  return [svg("path", { class: "flow", d: `${line}${along}${along === "V" ? y + 5 : x + 5 * from}` }), svg("path", { class: "tip", d: tip })];
}

// The frame around what is repeated, with how often.
function frame(parts, config, name, up) {
  const inside = parts.filter((part) => part.inLayer);
  const [low, high] = [inside[0].y - BOX_HIGH / 2 - 13, inside.at(-1).y + BOX_HIGH / 2 + 9];
  const outwards = name === "encoder" ? -1 : 1;
  const x = CENTRES[name] - BOX_WIDE / 2 - (name === "encoder" ? 24 : 10);
  return svg("g", { class: "frame" },
    svg("rect", { x, y: up(high), width: BOX_WIDE + 34, height: high - low, rx: 14 }),
    svg("text", { x: CENTRES[name] + outwards * (BOX_WIDE / 2 + 45), y: up(middle(inside)), "aria-label": `${layersOf(config, name)} layers` }, `${layersOf(config, name)} ×`));
}

// From each part to the one above it; what attends to itself is read three times, as queries, keys and values.
function flow(parts, up) {
  const lines = parts.map((part, at) => arrow(`M${part.x} ${up(at ? parts[at - 1].y + BOX_HIGH / 2 : part.y - BOX_HIGH / 2 - BOX_GAP)}`, part.x, up(part.y - BOX_HIGH / 2), "V"));
  const fans = parts.filter((part) => part.sublayer === "self_attention").flatMap((part) => [-34, 34].map((side) =>
    arrow(`M${part.x} ${up(part.y - BOX_HIGH / 2) + 8}h${side}`, part.x + side, up(part.y - BOX_HIGH / 2), "V")));
  return [...lines, ...fans].flat();
}

// Around every sublayer: what it reads is added to what it gives.
function residuals(parts, name, up) {
  const side = name === "encoder" ? -1 : 1;
  return parts.filter((part) => part.opens).flatMap((part) => {
    const adds = parts.slice(parts.indexOf(part)).find((later) => later.adds);
    const out = part.x + side * (BOX_WIDE / 2 + 13);
    return arrow(`M${part.x} ${up(part.y - BOX_HIGH / 2) + 12}H${out}V${up(adds.y)}`, adds.x + side * (BOX_WIDE / 2), up(adds.y), "H", side);
  });
}

// A dashed line joins the parts that use one matrix.
function ties(all, up) {
  const [source, target, output] = ["encoder", "decoder", "output"].map((name) => all.find((part) => part.matrix && part.stage.startsWith(name)));
  const right = target.x + BOX_WIDE / 2;
  return [
    source.matrix === target.matrix && `M${source.x + BOX_WIDE / 2} ${up(source.y)}H${target.x - BOX_WIDE / 2}`,
    target.matrix === output.matrix && `M${right} ${up(target.y)}h${EDGE + 8}V${up(output.y)}h${-EDGE - 8}`,
  ].filter(Boolean).map((d) => svg("path", { class: "tie", d }));
}

function box(part, { config, trace, href, here, layer, head, up }) {
  const [x, y] = [part.x - BOX_WIDE / 2, up(part.y + BOX_HIGH / 2)];
  const current = here && isHere(part, here, config);
  const shape = svg("rect", { x, y, width: BOX_WIDE, height: BOX_HIGH, rx: 8 });
  const kind = `part ${part.kind}${current ? " here" : ""}`;
  if (!href) return svg("g", { class: kind }, shape);
  const weights = part.kind === "attention" && attentionOf(trace, part, layer, head);
  const text = [part.text, part.about].filter(Boolean).join(", ");
  return svg("a", { class: kind, href: href(part.stage), "aria-label": `${part.stack === "encoder" ? "Encoder" : "Decoder"}: ${text}`, "aria-current": current ? "location" : "false" }, shape,
  svg("text", { x: part.x - (weights ? 12 : 0), y: up(part.y) - (part.about ? 5 : 0) }, part.text),
  part.about && svg("text", { class: "note", x: part.x - (weights ? 12 : 0), y: up(part.y) + 8 }, part.about),
  part.matrix && svg("text", { class: "matrix", x: x + BOX_WIDE - 16, y: up(part.y) }, ...subscript(part.matrix)),
  weights && cells(weights, x + BOX_WIDE - 27, y + 4, 22));
}

const subscript = (name) => {
  const [letter, below] = name.split("_");
  return [letter, below && svg("tspan", { dy: 4, "font-size": 9 }, below[0])];
};

function attentionOf(trace, part, layer, head) {
  const recorded = trace?.values[`${part.stack}.layers.${Math.min(layer, layersOf(trace.config, part.stack) - 1)}.${part.sublayer}.weights`];
  return recorded?.values[Math.min(head, recorded.values.length - 1)].slice(0, MOST_CELLS).map((row) => row.slice(0, MOST_CELLS));
}

// The weights of one head, small: the ink of the theme, as opaque as the weight is large.
function cells(weights, x, y, size) {
  const cell = size / Math.max(weights.length, weights[0].length);
  return svg("g", { class: "cells" }, svg("rect", { class: "back", x: x - 1, y: y - 1, width: size + 2, height: size + 2, rx: 2 }),
    ...weights.flatMap((row, at) => row.map((weight, column) => weight > 0.03 && svg("rect", { x: x + column * cell, y: y + at * cell, width: cell,
      height: cell, opacity: Math.min(1, weight ** 0.6).toFixed(2) }))).filter(Boolean));
}

// What goes in below and comes out above: the tokens of the sentence.
function words(config, trace, stacks, href, up) {
  const text = (tokens, most = 30) => {
    const all = tokens.map((token) => token.text).join(" ");
    return all.length > most ? `${all.slice(0, most - 1)}…` : all;
  };
  const line = (x, y, stage, label, shown) => svg("a", { class: "words", href: href(stage), "aria-label": `${label}: ${shown}` },
    svg("text", { class: "label", x, y: up(y) }, label), svg("text", { x, y: up(y - 17) }, shown));
  const last = stacks.decoder.at(-1);
  const step = trace?.steps[0];
  return [
    line(CENTRES.encoder, 32, "tokens", "source tokens", trace ? text(trace.source_tokens) : ""),
    line(CENTRES.decoder, 32, "tokens", "target tokens so far", trace ? text(trace.target_in) : ""),
    ...arrow(`M${last.x} ${up(last.y + BOX_HIGH / 2)}`, last.x, up(last.y + BOX_HIGH / 2 + 16), "V"),
    line(CENTRES.decoder, last.y + BOX_HIGH / 2 + 42, "output.probabilities", "first token",
      step ? step.candidates.slice(0, 3).map((each) => `${each.text} ${percent(each.probability)}`).join("   ") : ""),
  ];
}

// What the model is, in the words of its settings.
export function facts(config) {
  const place = { pre: "before each sublayer (pre-norm)", post: "after each sublayer (post-norm, as in the paper)" }[config.norm_place];
  const norm = { layer: "layer norm", rms: "RMS norm", batch: "batch norm" }[config.norm];
  const ties = { all: "source embedding, target embedding and output are one matrix", decoder: "target embedding and output are one matrix",
    none: "every matrix is its own" }[config.tie];
  const keyHeads = config.kv_heads && config.kv_heads !== config.heads ? `, sharing ${config.kv_heads} heads of keys and values` : "";
  const rows = [
    ["layers", `${config.encoder_layers} in the encoder, ${config.decoder_layers} in the decoder`],
    ["vectors", `${config.d_model} features for each token`],
    ["attention", `${config.heads} heads of ${config.d_model / config.heads} features${keyHeads}`],
    ["feed-forward", `${config.feed_forward} features, ${config.activation}`],
    ["norm", `${norm}, ${place}`],
    ["positions", { none: "none", rotary: "rotary: queries and keys are turned" }[config.positions] ?? `${config.positions}, added to the embedding`],
    ["shared", ties],
    ["biases", config.bias ? "in every linear layer" : "none"],
  ];
  return element("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}
