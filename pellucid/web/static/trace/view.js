// What a stage draws with: the formulas and recorded values of the chosen layer and head, as equations and heatmaps.

import { element, formula } from "../dom.js";
import { heatmap } from "../heatmap.js";
import { layersOf } from "./parts.js";

const TALLEST = 600; // pixels, of a square picture

// What a function is: its own formula, or its name with words.
const gloss = (name, text) => (text.startsWith(`${name}(`) ? text : `${name}: ${text}`);

const OPERATORS = ["=", "+", "−", "·", "⊙", "/", ","];

// An equation of terms: [symbol, shape], operators, functions, numbers and brackets. "^T" and "^" belong to what stands before.
export function equation(...terms) {
  const made = [];
  for (let at = 0; at < terms.length; at += 1) {
    const term = terms[at];
    if (term === "^T") made.at(-1).firstChild.append(element("sup", {}, "T"));
    else if (term === "^") {
      const exponent = terms.slice(at + 1, terms[at + 1] === "(" ? terms.indexOf(")", at) + 1 : at + 2);
      made.at(-1).append(element("sup", {}, ...exponent.filter((each) => each !== "(" && each !== ")").map((each) => formula(Array.isArray(each) ? each[0] : each))));
      at += exponent.length;
    } else made.push(drawn(term));
  }
  return element("div", { class: "equation" }, ...made);
}

function drawn(term) {
  if (typeof term === "string") return element("span", { class: OPERATORS.includes(term) ? "operator" : null }, formula(term));
  const [symbol, shape] = term;
  return element("span", { class: "symbol" }, formula(symbol), element("small", {}, shape.length ? shape.join(" × ") : "number"));
}

export const figures = (...all) => element("div", { class: "figures" }, ...all);

const ATTENDS = /\.(self_attention|cross_attention)\./;

export class View {
  // `chosen` holds what the reader chose, `choose` changes it, `open` opens a cell, `width` is the room in pixels.
  constructor(stage, trace, chosen, { choose, open, href }, width) {
    const { config } = trace;
    Object.assign(this, { stage, trace, config, chosen, choose, open, href, width });
    const layers = stage.layers ?? layersOf(config, "encoder");
    this.layer = Math.min(chosen.layer, layers - 1);
    this.head = Math.min(chosen.head, config.heads - 1);
    this.keyHead = Math.floor((this.head * (config.kv_heads || config.heads)) / config.heads); // heads may share keys and values
    this.step = Math.min(chosen.step, trace.steps.length - 1);
    this.sourceKeys = trace.labels.encoder;
    this.targetKeys = trace.target_in.map((token) => token.text);
    this.formulas = stage.formulas.filter((each) => each.layer === null || each.layer === this.layer);
  }

  // The formulas of this stage, as the trace has them, and what the functions in them are.
  equations() {
    const functions = [...new Set(this.formulas.flatMap((each) => each.terms))].filter((term) => term in this.trace.functions);
    return [
      element("div", { class: "equations" }, ...this.formulas.map((each) => {
        const drawn = equation([each.symbol, each.shape], "=", ...each.terms.map((term) => (each.operands[term] ? [term, each.operands[term].shape] : term)));
        drawn.dataset.formula = each.value;
        if (each.changed.length) drawn.append(element("small", { class: "changed" }, `changed here: ${each.changed.join(", ")}`));
        return drawn;
      })),
      functions.length > 0 && element("p", { class: "functions quiet" }, ...functions.flatMap((name, at) => [at ? "; " : "", formula(gloss(name, this.trace.functions[name]))])),
    ];
  }

  // What the formulas read from earlier stages, then what they give: each value once.
  pictures() {
    const made = new Set(this.formulas.map((each) => each.value));
    const operands = this.formulas.flatMap((each) => Object.entries(each.operands).map(([symbol, operand]) => ({ ...operand, symbol })));
    const masks = operands.filter((each) => each.kind === "mask").map((each) => this.mask(each));
    const read = operands.filter((each) => each.kind === "value" && !made.has(each.name)).map((each) => each.name);
    const names = [...new Set([...read, ...this.formulas.map((each) => each.value)])].filter((name) => this.trace.values[name]);
    return figures(...masks, ...names.map((name) => this.value(name, { beside: Math.min(3, names.length + masks.length) })));
  }

  mask({ name, symbol }) {
    const values = this.trace.masks[name].map((row) => row.map(Number));
    return this.square(values, symbol, { kind: "mask", note: "1: may attend", ...this.sides(`${name}.scores`) });
  }

  // The labels of the rows of a value, and of its columns where these are tokens too.
  sides(name) {
    const stack = name.split(".")[0];
    const cross = name.includes(".cross_attention.");
    const keys = cross || stack === "encoder" ? this.sourceKeys : this.targetKeys;
    const ofKeys = cross && /\.(key|value)$/.test(name);
    return { rows: ofKeys ? this.sourceKeys : this.trace.labels[stack] ?? this.trace.labels.decoder, columns: keys };
  }

  symbolOf(name) {
    return this.trace.formulas.find((each) => each.value === name)?.symbol ?? name;
  }

  // One recorded value, of the chosen head where it has heads.
  value(name, { beside = 3, note = "", least = 9, head = null, title = null } = {}) {
    const recorded = this.trace.values[name];
    const { axes, values, shape } = recorded;
    const byHead = axes[0] === "head";
    const at = byHead ? head ?? (values.length === this.config.heads ? this.head : this.keyHead) : null;
    const told = [byHead && head === null && `head ${at}`, note].filter(Boolean);
    const shown = byHead ? values[at] : values;
    const index = byHead ? [at] : [];
    const open = this.open && ((row, column) => this.open(name, [...index, row, column]));
    const common = { name, open, at: this.opened(name, index) };
    const heading = title ?? this.symbolOf(name);
    if (axes.at(-1) === "key") {
      return this.square(shown, heading, { kind: name.endsWith("weights") ? "weights" : "signed", note: told.join("; "), beside, least, ...this.sides(name), ...common });
    }
    const [kept, features] = [shown[0].length, shape.at(-1)];
    if (kept < features) told.push(`the first ${kept} of ${features} features`);
    const tokens = this.sides(name).rows;
    return heatmap({
      values: shown, rows: tokens.slice(0, shown.length), title: heading, note: told.join("; "), ...common,
      cell: [Math.max(2, Math.min(12, Math.floor(this.room(beside) / kept))), shown.length > 32 ? 11 : 18],
    });
  }

  // The row and column of the cell that is open, if it is one of this picture.
  opened(name, index) {
    const last = this.chosen.cell.at(-1);
    return last?.name === name && index.every((place, at) => last.index[at] === place) ? last.index.slice(-2) : null;
  }

  // The width of a picture, in pixels, when `wanted` of them stand side by side: without the labels beside it.
  room(wanted) {
    const beside = Math.min(wanted, Math.max(1, Math.floor(this.width / 230)));
    return Math.max(130, Math.min(560, Math.floor((this.width - 54 - 24 * (beside - 1)) / beside) - 126));
  }

  // Rows are queries, columns are keys.
  square(values, title, { note = "", kind = "signed", beside = 2, least = 9, rows, columns, ...rest }) {
    const side = Math.max(least, Math.min(34, Math.floor(Math.min(this.room(beside) / values[0].length, TALLEST / values.length))));
    return heatmap({
      values, kind, title, note, rows: rows.slice(0, values.length), columns: columns.slice(0, values[0].length), cell: [side, side], ...rest,
    });
  }

  // The attention that this stage is of, or null: "decoder.cross_attention".
  get part() {
    return ATTENDS.test(`${this.stage.id}.`) ? `${this.stage.stack}.${this.stage.sublayer}` : null;
  }

  attention(name, part = this.part, layer = this.layer) {
    const [stack, sublayer] = part.split(".");
    return `${stack}.layers.${layer}.${sublayer}.${name}`;
  }
}
