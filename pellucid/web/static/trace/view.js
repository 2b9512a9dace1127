// What a stage draws with: the recorded values by name, equations with shapes, vectors and matrices as heatmaps.

import { element, formula } from "../dom.js";
import { heatmap } from "../heatmap.js";

const TALLEST = 600; // pixels, of a square picture

// An equation whose symbols carry their shapes: ["Q", [10, 32]], "=", ["X", [10, 128]], …
export function equation(...terms) {
  return element("div", { class: "equation" }, ...terms.map((term) => {
    if (typeof term === "string") return element("span", {}, formula(term));
    const [symbol, shape] = term;
    return element("span", { class: "symbol" }, formula(symbol), element("small", {}, shape.length ? shape.join(" × ") : "number"));
  }));
}

// A stage of the walk: its name, what a reader can choose in it, and what it draws with a View. `part` fixes the attention.
export const stage = (name, choices, draw, part = null) => ({ name, choices, draw, part });

export const figures = (...all) => element("div", { class: "figures" }, ...all);

export class View {
  // `chosen` holds what the reader chose, `choose` changes it, `width` is the room for figures in pixels.
  constructor({ choices, part }, trace, chosen, choose, width) {
    const { config } = trace;
    Object.assign(this, { trace, config, choose, width, show: chosen.show });
    this.part = part ?? chosen.part;
    if (choices.includes("stack") && this.part === "decoder.cross_attention") this.part = "decoder.self_attention";
    [this.stack, this.sublayer] = this.part.split(".");
    [this.source, this.target] = [trace.source_tokens, trace.target_in].map((tokens) => tokens.map((token) => token.text));
    this.queries = this.stack === "encoder" ? this.source : this.target;
    this.keys = this.part === "decoder.self_attention" ? this.target : this.source;
    this.shape = [this.queries.length, this.keys.length];
    this.layers = config[`${this.stack}_layers`];
    this.layer = Math.min(chosen.layer, this.layers - 1);
    this.head = Math.min(chosen.head, config.heads - 1);
    this.keyHead = Math.floor((this.head * (config.kv_heads || config.heads)) / config.heads); // heads may share keys and values
    this.step = Math.min(chosen.step, trace.steps.length - 1);
    this.norm = { layer: "LayerNorm", rms: "RMSNorm", batch: "BatchNorm" }[config.norm];
  }

  // A value of the chosen layer, by the rest of its name: "feed_forward.hidden".
  inLayer(name, layer = this.layer) {
    return this.trace.values[`${this.stack}.layers.${layer}.${name}`];
  }

  // A value of the chosen attention: its query, key, value, scores, weights, heads or output.
  attention(name, layer) {
    return this.inLayer(`${this.sublayer}.${name}`, layer);
  }

  // The width of a picture, in pixels, when `wanted` of them stand side by side: without the labels beside it.
  room(wanted) {
    const beside = Math.min(wanted, Math.max(1, Math.floor(this.width / 230)));
    return Math.max(150, Math.min(560, Math.floor((this.width - 54 - 24 * (beside - 1)) / beside) - 72));
  }

  // Rows are tokens, columns are features; `head` chooses one of a value that has a row of vectors for each head.
  vectors(recorded, tokens, title, note, head = null) {
    if (!recorded) return null;
    const values = head === null ? recorded.values : recorded.values[head];
    const [kept, features] = [values[0].length, recorded.shape.at(-1)];
    const cut = kept < features ? `the first ${kept} of ${features} features` : "";
    return heatmap({
      values, rows: tokens.slice(0, values.length), title, note: [note, cut].filter(Boolean).join("; "),
      cell: [Math.max(2, Math.min(12, Math.floor(this.room(3) / kept))), values.length > 32 ? 11 : 18],
    });
  }

  // Rows are queries, columns are keys.
  square(values, title, { note = "", kind = "signed", beside = 2, least = 9, rows = this.queries, columns = this.keys } = {}) {
    const side = Math.max(least, Math.min(34, Math.floor(Math.min(this.room(beside) / values[0].length, TALLEST / values.length))));
    return heatmap({
      values, kind, title, note, rows: rows.slice(0, values.length), columns: columns.slice(0, values[0].length), cell: [side, side],
    });
  }

  // The scores or the weights of one head.
  matrix(name, title, options = {}, head = this.head) {
    return this.square(this.attention(name).values[head], title, { kind: name === "weights" ? "weights" : "signed", ...options });
  }
}
