// The stages of a layer after its heads: output projection, residual connection and normalisation, then feed-forward.

import { paragraph } from "../dom.js";
import { equation, figures, stage } from "./view.js";

export const addAndNorm = stage("Add & norm", ["attention", "layer"], (view) => {
  const { config, queries, norm, sublayer } = view;
  const joined = view.attention("output");
  const shape = [queries.length, config.d_model];
  // In a pre-norm layer the next sublayer normalises its input; after the decoder's self-attention that is cross-attention.
  const next = view.part === "decoder.self_attention" ? "cross_attention" : "feed_forward";
  return [
    paragraph("The outputs of all heads are concatenated and projected by one more matrix. The result is added to X (the residual " +
      `connection), and ${norm} normalises the sum.`),
    equation(["Z", shape], "=", ["[head_1; head_2; …]", [queries.length, joined.shape[1]]], ["W_O", [joined.shape[1], config.d_model]]),
    equation(["X'", shape], "=", ["X", shape], "+", ["Z", shape], ",   then", [`${norm}(X')`, shape]),
    figures(view.vectors(joined, queries, "Z", "all heads joined"),
      view.vectors(view.inLayer(`${sublayer}_residual.sum`), queries, "X' = X + Z", "sum"),
      view.vectors(view.inLayer(`${config.norm_place === "pre" ? next : sublayer}_residual.norm`), queries, `${norm}(X')`, "normalised")),
  ];
});

export const feedForward = stage("Feed-forward", ["stack", "layer"], (view) => {
  const { config, queries, norm } = view;
  const [narrow, wide] = [[queries.length, config.d_model], [queries.length, config.feed_forward]];
  const activation = { relu: "ReLU", gelu: "GELU", silu: "SiLU", swiglu: "SiLU" }[config.activation];
  const gate = config.activation === "swiglu" ? ["·", ["x W_3", wide]] : [];
  const vectors = (name, title, note) => view.vectors(view.inLayer(`feed_forward${name}`), queries, title, note);
  const post = config.norm_place === "post";
  return [
    paragraph(`The feed-forward network works on each token by itself: from ${config.d_model} features to ${config.feed_forward}, ` +
      `${activation}${config.activation === "relu" ? ", which sets negative values to 0" : ""}, and back to ${config.d_model}. Its output ` +
      "is added to X' (the residual connection)."),
    equation(["H", wide], "=", `${activation}(`, ["x", narrow], ["W_1", [config.d_model, config.feed_forward]], ")", ...gate),
    equation(["X''", narrow], "=", ["X'", narrow], "+", ["H", wide], ["W_2", [config.feed_forward, config.d_model]]),
    figures(!post && vectors("_residual.norm", `x = ${norm}(X')`, "input"),
      vectors(".hidden", "H", "hidden layer"), vectors(".output", "H W_2", "output"),
      vectors("_residual.sum", "X''", post ? "sum" : "input of the next layer"),
      post && vectors("_residual.norm", `${norm}(X'')`, "input of the next layer")),
  ];
});
