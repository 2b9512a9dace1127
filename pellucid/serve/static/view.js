// What a stage of the walk draws with: the values of a trace under their names, equations with shapes, heatmaps.

import { element, formula, heatmap } from "./heatmap.js";

const TALLEST = 600; // of a picture, in pixels

export const size = (shape) => shape.join(" × ");

// An equation whose symbols carry their shapes: ["Q", [10, 32]], "=", ["X", [10, 128]], …
export function equation(...parts) {
  return element("div", { class: "equation" }, ...parts.map((part) => {
    if (typeof part === "string") return element("span", { class: "sign" }, formula(part));
    const [symbol, shape] = part;
    return element("span", { class: "symbol" }, formula(symbol), element("small", {}, shape.length ? size(shape) : "number"));
  }));
}

export function figures(...all) {
  return element("div", { class: "figures" }, ...all.filter(Boolean));
}

export function text(...words) {
  return element("p", {}, ...words);
}

export class View {
  // `width` is what figures have, in pixels.
  constructor(trace, chosen, width) {
    this.trace = trace;
    this.chosen = chosen;
    this.width = width;
    this.config = trace.config;
    this.source = trace.source_tokens.map((token) => token.text);
    this.target = trace.target_in.map((token) => token.text);
  }

  // Which attention is looked at: of the source, of the target, or across.
  part(kind = "self_attention") {
    return kind === "cross_attention" ? "decoder.cross_attention" : `${this.chosen.stack}.self_attention`;
  }

  tokens(part) {
    return {
      queries: part === "encoder.self_attention" ? this.source : this.target,
      keys: part === "decoder.self_attention" ? this.target : this.source,
    };
  }

  value(name) {
    return this.trace.values[name];
  }

  // A value of the chosen layer, by what its name has after the layer: "self_attention.query".
  inLayer(part, name) {
    return this.value(`${part.split(".")[0]}.layers.${this.chosen.layer}.${name}`);
  }

  attention(part, word) {
    return this.inLayer(part, `${part.split(".")[1]}.${word}`);
  }

  // Several query heads may share keys and values.
  keyHead() {
    return Math.floor(this.chosen.head / (this.config.heads / (this.config.kv_heads || this.config.heads)));
  }

  norm() {
    return { layer: "LayerNorm", rms: "RMSNorm", batch: "BatchNorm" }[this.config.norm];
  }

  // The width of a picture when so many stand side by side, without the words beside it.
  room(wanted) {
    const beside = Math.min(wanted, Math.max(1, Math.floor(this.width / 230)));
    return Math.max(150, Math.min(560, Math.floor((this.width - 54 - 24 * (beside - 1)) / beside) - 72));
  }

  // Rows are tokens, columns are features; `head` chooses one of a value that heads divide.
  vectors(of, words, title, { note = "", head = null, beside = 3 } = {}) {
    if (!of) return null;
    const values = head === null ? of.values : of.values[head];
    const [shown, features] = [values[0].length, of.shape.at(-1)];
    const cut = shown < features ? `the first ${shown} of ${features} features` : "";
    return heatmap({
      values, rows: words.slice(0, values.length), title, note: [note, cut].filter(Boolean).join("; "),
      cell: [Math.max(2, Math.min(12, Math.floor(this.room(beside) / shown))), values.length > 32 ? 11 : 18],
    });
  }

  // Rows ask, columns are looked at.
  square(values, part, title, { note = "", kind = "signed", beside = 2, least = 9, current = false } = {}) {
    const { queries, keys } = this.tokens(part);
    const fitting = Math.min(this.room(beside) / values[0].length, TALLEST / values.length);
    const side = Math.max(least, Math.min(34, Math.floor(fitting)));
    const made = heatmap({
      values, kind, title, note, rows: queries.slice(0, values.length), columns: keys.slice(0, values[0].length), cell: [side, side],
    });
    made.classList.toggle("current", current);
    return made;
  }
}
