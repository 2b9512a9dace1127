// The stages of attention, for one head: queries, keys and values, scores, mask, weights, output; then all heads.

import { element, paragraph, percent } from "../dom.js";
import { thumbnail } from "../heatmap.js";
import { equation, figures, stage } from "./view.js";

const HEAD_CHOICES = ["attention", "layer", "head"];
const CROSS = "decoder.cross_attention";

export const projections = stage("Queries, keys, values", HEAD_CHOICES, (view) => {
  const { queries, keys, config } = view;
  const [cross, pre] = [view.part === CROSS, config.norm_place === "pre"];
  const [wide, size] = [config.d_model, view.attention("query").shape[2]];
  const input = pre ? "x" : "X";
  const other = cross ? "M" : input;
  const project = (name, from, tokens) =>
    equation([name, [tokens.length, size]], "=", [from, [tokens.length, wide]], [`W_${name}`, [wide, size]]);
  const about = cross ? " Queries come from the target; keys and values come from M, the output of the encoder."
    : config.positions === "rotary" ? " Queries and keys are rotated by their positions." : "";
  return [
    paragraph("A head projects every token to three vectors: a query, what the token looks for; a key, what it is found by; and a " +
      `value, what it passes on.${about}`),
    pre && equation(["x", [queries.length, wide]], "=", [`${view.norm}(X)`, [queries.length, wide]]),
    element("div", { class: "equations" }, project("Q", input, queries), project("K", other, keys), project("V", other, keys)),
    figures(pre && view.vectors(view.inLayer(`${view.sublayer}_residual.norm`), queries, `x = ${view.norm}(X)`, "input"),
      view.vectors(view.attention("query"), queries, "Q", "queries", view.head),
      view.vectors(view.attention("key"), keys, "K", "keys", view.keyHead),
      view.vectors(view.attention("value"), keys, "V", "values", view.keyHead)),
  ];
});

export const scores = stage("Scores", HEAD_CHOICES, (view) => {
  const size = view.attention("query").shape[2];
  const [rows, columns] = view.shape;
  return [
    paragraph("The score of a query and a key is their dot product, divided by the square root of the head size so that large heads do " +
      "not have large scores."),
    equation(["S", view.shape], "=", ["Q", [rows, size]], ["K^T", [size, columns]], `/ √${size}`),
    figures(view.square(products(view) || view.attention("scores").values[view.head], "S = Q K^T / √d_{head}",
      { note: "row: query, column: key" })),
  ];
});

// Q Kᵀ / √d before the mask; null if the trace has not all features.
function products(view) {
  const { shape, values } = view.attention("query");
  const [queries, keys] = [values[view.head], view.attention("key").values[view.keyHead]];
  if (queries[0].length < shape[2]) return null;
  const dot = (first, second) => first.reduce((sum, each, at) => sum + each * second[at], 0);
  return queries.map((query) => keys.map((key) => dot(query, key) / Math.sqrt(shape[2])));
}

export const mask = stage("Mask", HEAD_CHOICES, (view) => {
  const masked = view.part === "decoder.self_attention";
  const keep = view.trace.masks[view.part].map((row) => row.map(Number));
  return [
    paragraph(masked ? "In the decoder a token may not attend to later ones: their scores become −∞, whose exponential is 0."
      : "The source is known as a whole, so every source token may be attended to and nothing is masked. In the decoder's " +
        "self-attention it is different: choose it above."),
    equation(["S_{masked}", view.shape], "=", ["S", view.shape], "where", ["mask", view.shape], "is 1, else −∞"),
    figures(view.square(keep, "mask", { note: "1: may attend", kind: "mask" }),
      view.matrix("scores", "S_{masked}", { note: masked ? "grey: −∞" : "" })),
  ];
});

export const softmax = stage("Softmax", HEAD_CHOICES, (view) => [
  paragraph("Softmax takes the exponential of every score and divides each row by its sum: the attention weights of a query lie " +
    "between 0 and 1, and sum to 1."),
  equation(["A", view.shape], "=", "softmax", ["(S_{masked})", view.shape]),
  figures(view.matrix("scores", "S_{masked}"), view.matrix("weights", "A", { note: "every row sums to 1" })),
]);

function headOutput(view, about) {
  const [rows, columns] = view.shape;
  const size = view.attention("heads").shape[2];
  return [
    paragraph(about),
    equation(["head", [rows, size]], "=", ["A", view.shape], ["V", [columns, size]]),
    figures(view.matrix("weights", "A", { note: "weights", beside: 3 }),
      view.vectors(view.attention("value"), view.keys, "V", "values", view.keyHead),
      view.vectors(view.attention("heads"), view.queries, "A V", "output of the head", view.head)),
  ];
}

export const weightedSum = stage("Weighted sum", HEAD_CHOICES, (view) =>
  headOutput(view, "The output of a head is the sum of all values, each multiplied by its attention weight."));

const ATTENDED = { itself: "itself", previous: "the token before", next: "the token after", first: "the first token", end: "the end" };
const attends = (view, head) =>
  view.trace.heads.find((each) => each.part === view.part && each.layer === view.layer && each.head === head);

// The heads of the chosen layer.
function sideBySide(view, name) {
  return [element("h3", {}, "All heads of this layer"), figures(...view.attention(name).values.map((_, head) => {
    const { mainly, spread, ...weights } = attends(view, head);
    const note = mainly ? `attends to ${ATTENDED[mainly]}, ${percent(weights[mainly])}` : `spread over about ${spread.toFixed(1)} tokens`;
    const figure = view.matrix(name, `head ${head}`, { note, beside: 4, least: 4 }, head);
    figure.classList.toggle("current", head === view.head);
    return figure;
  }))];
}

// Every head of every layer; a click chooses it.
function overview(view, name) {
  const { heads } = view.config;
  const size = heads > 8 ? 40 : heads > 4 ? 52 : 64;
  const row = (layer) => element("div", { class: "row" }, element("span", {}, `layer ${layer}`),
    ...view.attention(name, layer).values.map((values, head) => element("button", {
      type: "button", class: "thumbnail", "data-control": `head-${layer}-${head}`, "aria-label": `layer ${layer}, head ${head}`,
      title: `layer ${layer}, head ${head}`, "aria-pressed": layer === view.layer && head === view.head,
      onclick: () => view.choose({ layer, head }),
    }, thumbnail(values, size, name === "weights" ? "weights" : "signed"))));
  return element("div", { class: "overview scroll", role: "group", "aria-label": "Every head of every layer" },
    ...Array.from({ length: view.layers }, (_, layer) => row(layer)));
}

export const heads = stage("Heads side by side", [...HEAD_CHOICES, "show"], (view) => {
  const product = "Q_i K_i^T / √d_{head}";
  const head = attends(view, view.head);
  const shares = Object.entries(ATTENDED).filter(([key]) => head[key] !== null).map(([key, name]) => `${name} ${percent(head[key])}`);
  return [
    paragraph("Every head has its own projections, and attends to other tokens. The chosen one is shown in all stages."),
    equation(...(view.show === "weights" ? [["A_i", view.shape], "=", "softmax", [`(${product})`, view.shape]]
      : [["S_i", view.shape], "=", [product, view.shape]]), `,   i = 0 … ${view.config.heads - 1}`),
    element("div", { class: "side" }, overview(view, view.show), element("div", {},
      view.matrix(view.show, `layer ${view.layer}, head ${view.head}`, { note: `${view.show}; row: query, column: key` }),
      element("p", { class: "quiet" }, `Mean weights: ${shares.join(", ")}; spread over about ${head.spread.toFixed(1)} tokens.`))),
    ...sideBySide(view, view.show),
  ];
});

export const crossAttention = stage("Cross-attention", ["layer", "head"], (view) => [
  ...headOutput(view, "Cross-attention connects the two sides: queries come from the target, keys and values from the encoder's " +
    "output for the source."),
  ...sideBySide(view, "weights"),
], CROSS);
