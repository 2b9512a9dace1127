// One attention head, from its questions to its answer. The same stages serve self-attention and cross-attention.

import { element, percent } from "../heatmap.js";
import { equation, figures, text } from "../view.js";

const inLayer = ["stack", "layer", "head"];

export const projections = {
  name: "Queries, keys, values",
  choices: inLayer,
  draw(view) {
    const part = view.part();
    const { queries } = view.tokens(part);
    const [d, wide] = [view.attention(part, "query").shape[2], view.config.d_model];
    const pre = view.config.norm_place === "pre";
    const [input, all] = [pre ? "x" : "X", [queries.length, wide]];
    const turned = view.config.positions === "rotary" ? " Queries and keys are turned by their positions." : "";
    const project = (name) => equation([name, [queries.length, d]], "=", [input, all], [`W_${name}`, [wide, d]]);
    const picture = (word, title, head, note) => view.vectors(view.attention(part, word), queries, title, { note, head });
    return [
      text(`A head makes three vectors of every token: a query, what it asks; a key, what it offers to be found by; and a ` +
        `value, what it tells those who find it.${turned}`),
      pre ? equation(["x", all], "=", [`${view.norm()}(X)`, all]) : "",
      element("div", { class: "equations" }, ...["Q", "K", "V"].map(project)),
      figures(picture("query", "Q", view.chosen.head, "what each token asks"), picture("key", "K", view.keyHead(), "what each token offers"),
        picture("value", "V", view.keyHead(), "what each token tells")),
    ];
  },
};

export const scores = {
  name: "Scores",
  choices: inLayer,
  draw(view) {
    const part = view.part();
    const { queries, keys } = view.tokens(part);
    const d = view.attention(part, "query").shape[2];
    const compared = products(view, part);
    return [
      text("Every query meets every key. Their product says how well the two go together; it is divided by the root of the head's size, " +
        "so that large heads do not make large scores."),
      equation(["S", [queries.length, keys.length]], "=", ["Q", [queries.length, d]], ["K^T", [d, keys.length]], `/ √${d}`),
      figures(view.square(compared || view.attention(part, "scores").values[view.chosen.head], part, "S = Q K^T / √d_{head}",
        { note: "a row asks, a column is looked at" })),
    ];
  },
};

export const mask = {
  name: "Mask",
  choices: inLayer,
  draw(view) {
    const part = view.part();
    const open = view.trace.masks[part].map((row) => row.map(Number));
    const { queries, keys } = view.tokens(part);
    const shape = [queries.length, keys.length];
    const masked = part === "decoder.self_attention";
    return [
      text(masked ? "The decoder must not see what it has yet to say: the scores of later tokens become −∞, whose exponential is 0."
        : "The source is known from its first token to its last, so here every token may look at every other and nothing is hidden. In the decoder it is different: choose it above."),
      equation(["S_{masked}", shape], "=", ["S", shape], "where", ["mask", shape], "is 1, else −∞"),
      figures(view.square(open, part, "mask", { note: "1: may attend", kind: "weights" }),
        view.square(view.attention(part, "scores").values[view.chosen.head], part, "S_{masked}", { note: masked ? "grey: −∞" : "" })),
    ];
  },
};

export const softmax = {
  name: "Softmax",
  choices: inLayer,
  draw(view) {
    const part = view.part();
    const { queries, keys } = view.tokens(part);
    const shape = [queries.length, keys.length];
    return [
      text("The exponential makes every score positive, and dividing by the sum of its row makes the row sum to 1: weights, of which a " +
        "token has one to give away."),
      equation(["A", shape], "=", "softmax", ["(S_{masked})", shape]),
      figures(view.square(view.attention(part, "scores").values[view.chosen.head], part, "S_{masked}"),
        view.square(view.attention(part, "weights").values[view.chosen.head], part, "A", { note: "every row sums to 1", kind: "weights" })),
    ];
  },
};

export const weightedSum = {
  name: "Weighted sum",
  choices: inLayer,
  draw: (view) => gathered(view, view.part(), "Each token takes of every value as much as its weight says. What it gets is an average of what the others tell."),
};

export const heads = {
  name: "Heads side by side",
  choices: inLayer,
  draw: (view) => [
    text("Each head asks in its own way and looks elsewhere. The one chosen is followed through the walk."),
    equation(["A_i", view.attention(view.part(), "weights").shape.slice(1)], "=", "softmax", ["(Q_i K_i^T / √d_{head})", view.attention(view.part(), "scores").shape.slice(1)],
      `,   i = 0 … ${view.config.heads - 1}`),
    sideBySide(view, view.part()),
  ],
};

export const crossAttention = {
  name: "Cross-attention",
  choices: ["layer", "head"],
  stack: "decoder",
  draw(view) {
    const part = view.part("cross_attention");
    return [
      ...gathered(view, part, "Here the two sides meet. Queries come from the target, keys and values from what the encoder made of the " +
        "source: each target token takes what it needs from the source."),
      element("h3", {}, "All heads of this layer"),
      sideBySide(view, part),
    ];
  },
};

function gathered(view, part, about) {
  const { queries, keys } = view.tokens(part);
  const { shape } = view.attention(part, "heads");
  return [
    text(about),
    equation(["head", [queries.length, shape[2]]], "=", ["A", [queries.length, keys.length]], ["V", [keys.length, shape[2]]]),
    figures(view.square(view.attention(part, "weights").values[view.chosen.head], part, "A", { note: "weights", kind: "weights", beside: 3 }),
      view.vectors(view.attention(part, "value"), keys, "V", { note: "values", head: view.keyHead() }),
      view.vectors(view.attention(part, "heads"), queries, "A V", { note: "what the head hands on", head: view.chosen.head })),
  ];
}

function sideBySide(view, part) {
  const of = view.attention(part, "weights");
  const looks = view.trace.heads.filter((each) => each.part === part && each.layer === view.chosen.layer);
  const where = { itself: "itself", previous: "the token before", next: "the token after", first: "the first token", end: "the end" };
  return figures(...of.values.map((values, head) => {
    const look = looks[head];
    const told = look.mainly ? `looks at ${where[look.mainly]}, ${percent(look[look.mainly])}` : `spread over about ${look.spread.toFixed(1)} tokens`;
    return view.square(values, part, `head ${head}`, { note: told, kind: "weights", beside: 4, least: 4, current: head === view.chosen.head });
  }));
}

// Q Kᵀ / √d before the mask; null if the trace has not all features.
function products(view, part) {
  const [queries, keys] = [view.attention(part, "query"), view.attention(part, "key")];
  const [asked, offered] = [queries.values[view.chosen.head], keys.values[view.keyHead()]];
  if (asked[0].length < queries.shape[2]) return null;
  return asked.map((query) => offered.map((key) => query.reduce((sum, each, at) => sum + each * key[at], 0) / Math.sqrt(query.length)));
}
