// What a layer does after its heads: joins them, adds, normalises, and thinks about each token by itself.

import { equation, figures, text } from "../view.js";

const words = (view) => view.tokens(view.part()).queries;

export const addAndNorm = {
  name: "Add & norm",
  choices: ["stack", "layer"],
  draw(view) {
    const { config } = view;
    const part = view.part();
    const rows = words(view);
    const shape = [rows.length, config.d_model];
    const [joined, sum] = [view.attention(part, "output"), view.inLayer(part, "self_attention_residual.sum")];
    // In a pre-norm layer the next sublayer normalises what it is given; in the decoder that is cross-attention.
    const next = part.startsWith("encoder") ? "feed_forward" : "cross_attention";
    const norm = view.inLayer(part, config.norm_place === "pre" ? `${next}_residual.norm` : "self_attention_residual.norm");
    return [
      text("The heads are joined and mixed by one more matrix. The result is added to what came in, so that a layer changes a token " +
        `and does not replace it. ${view.norm()} then brings every token to the same scale.`),
      equation(["Z", shape], "=", ["[head_1; head_2; …]", [rows.length, joined.shape[1]]], ["W_O", [joined.shape[1], config.d_model]]),
      equation(["X'", shape], "=", ["X", shape], "+", ["Z", shape], ",   then", [`${view.norm()}(X')`, shape]),
      figures(view.vectors(joined, rows, "Z", { note: "all heads joined" }), view.vectors(sum, rows, "X' = X + Z", { note: "added" }),
        view.vectors(norm, rows, `${view.norm()}(X')`, { note: "normalised" })),
    ];
  },
};

export const feedForward = {
  name: "Feed-forward",
  choices: ["stack", "layer"],
  draw(view) {
    const { config } = view;
    const part = view.part();
    const rows = words(view);
    const [narrow, wide] = [[rows.length, config.d_model], [rows.length, config.feed_forward]];
    const act = { relu: "ReLU", gelu: "GELU", silu: "SiLU", swiglu: "SiLU" }[config.activation];
    const gate = config.activation === "swiglu" ? ["·", ["x W_3", wide]] : [];
    const [hidden, output, sum, norm] = ["feed_forward.hidden", "feed_forward.output", "feed_forward_residual.sum", "feed_forward_residual.norm"]
      .map((name) => view.inLayer(part, name));
    const post = config.norm_place === "post";
    return [
      text(`Now each token by itself: its ${config.d_model} features become ${config.feed_forward}, ${act} ` +
        `${config.activation === "relu" ? "sets the negative ones to 0" : "bends them"}, and they become ${config.d_model} again. This too is added to what came in.`),
      equation(["H", wide], "=", `${act}(`, ["x", narrow], ["W_1", [config.d_model, config.feed_forward]], ")", ...gate),
      equation(["X''", narrow], "=", ["X'", narrow], "+", ["H", wide], ["W_2", [config.feed_forward, config.d_model]]),
      figures(post ? null : view.vectors(norm, rows, `x = ${view.norm()}(X')`, { note: "what goes in" }),
        view.vectors(hidden, rows, "H", { note: "the wide part" }), view.vectors(output, rows, "H W_2", { note: "what is added" }),
        post ? view.vectors(norm, rows, `${view.norm()}(X'')`, { note: "to the next layer" }) : view.vectors(sum, rows, "X''", { note: "to the next layer" })),
    ];
  },
};
