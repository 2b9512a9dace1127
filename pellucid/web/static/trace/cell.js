// One cell opened: its computation with every operand. What was computed itself opens in turn; what was learned is the end.

import { cellName } from "../address.js";
import { element, formula, paragraph } from "../dom.js";
import { equation } from "./view.js";

const LONG = 12; // products: of more, the largest come first

// As many digits as a reader needs to compute it again.
export function exact(value) {
  if (value === null) return "−∞";
  const size = Math.abs(value);
  const text = value !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(5) : String(Number(value.toPrecision(7)));
  return text.replaceAll("-", "−");
}

// Fills the panel. `trail` are the cells that were opened one from the other, the last one is shown.
export function drawCell(aside, answer, trace, trail, { href, reopen }) {
  const last = trail.at(-1);
  const crumbs = trail.slice(0, -1).map((cell, at) => element("li", {}, element("a", { href: href({ cell: trail.slice(0, at + 1) }) }, cellTitle(cell, trace))));
  const close = element("a", { class: "plain", href: href({ cell: [] }), "aria-label": "Close the cell" }, "×");
  const head = (title) => [element("div", { class: "title" }, element("h2", { tabindex: -1 }, title), close),
    crumbs.length > 0 && element("ol", { class: "trail", "aria-label": "Opened on the way" }, ...crumbs)];
  if (answer.error) return aside.replaceChildren(...head(cellTitle(last, trace)).filter(Boolean), paragraph(answer.error));
  const of = trace.formulas[answer.formula];
  const tools = { trace, place: last, link: (cell, text) => operand(cell, text, reopen) };
  return aside.replaceChildren(...[...head(cellTitle(last, trace)),
    element("p", { class: "where quiet" }, whereIs(last, trace)),
    element("p", { class: "result" }, formula(answer.symbol ?? ""), " = ", element("strong", {}, exact(answer.number))),
    answer.changed?.length > 0 && element("p", { class: "warn" }, `Changed here by ${answer.changed.join(", ")}; without it:`),
    of && equation(of.symbol, "=", ...of.terms.map((term) => (of.operands[term] ? [term, of.operands[term].shape] : term))),
    ...draw(answer.computation, tools, answer.number),
    answer.note && element("p", { class: "quiet note" }, answer.note)].filter(Boolean));
}

const cellTitle = ({ name, index }, trace) => element("span", {}, formula(trace.formulas.find((each) => each.value === name)?.symbol ?? name), ` [${index.join(", ")}]`);

// The value and its axes in words: encoder, layer 2, self-attention; head 1, query ▁the, key ▁old.
function whereIs({ name, index }, trace) {
  const places = name.split(".").map((part) => part.replaceAll("_", " "));
  return `${places.join(" › ")}: ${index.map((place, axis) => labelOf(name, axis, place, trace)).join(", ")}`;
}

function labelOf(name, axis, place, trace) {
  const axes = trace.values[name]?.axes ?? (name === "alignment" ? ["query", "key"] : ["position", "token"]);
  const stack = name.split(".")[0];
  const cross = name.includes("cross_attention") || name === "alignment";
  const rows = cross && /\.(key|value)$/.test(name) ? trace.labels.encoder : trace.labels[stack] ?? trace.labels.decoder;
  const keys = cross || stack === "encoder" ? trace.labels.encoder : trace.target_in.map((token) => token.text);
  const kind = axes[axis];
  if (kind === "query" || kind === "position") return `${kind} ${rows[place] ?? place}`;
  return kind === "key" ? `key ${keys[place] ?? place}` : `${kind ?? "index"} ${place}`;
}

// A number that opens, if it was computed; a weight was learned, and a position is given.
function operand(cell, text, reopen) {
  const shown = text ?? exact(cell.number);
  if (cell.kind !== "value") return element("span", { class: "leaf", title: cell.kind === "weight" ? `${cell.name}: learned` : cell.name }, shown);
  return element("a", { class: "operand", href: reopen(cell), title: `Open ${cellName(cell)}` }, shown);
}

// The cells of a vector: the places that are null run, the last the fastest.
function cellsOf(vector) {
  return vector.numbers.map((value, at) => {
    let rest = at;
    const places = vector.run.map((_, axis) => {
      const size = vector.run.slice(axis + 1).reduce((product, each) => product * each, 1);
      const place = Math.floor(rest / size);
      rest %= size;
      return place;
    });
    return { kind: vector.kind, name: vector.name, symbol: vector.symbol, number: value, index: vector.index.map((place) => (place === null ? places.shift() : place)) };
  });
}

// What runs along a vector: tokens, or features.
function runLabel(vector, cell, trace) {
  if (vector.kind !== "value") return cell.index.join(", ");
  return vector.index.map((place, axis) => place === null && labelOf(vector.name, axis, cell.index[axis], trace)).filter(Boolean).join(", ").replace(/^(key|position|query|feature) /, "");
}

const grid = (headings, rows, chosen = -1) => element("div", { class: "scroll operands", tabindex: 0, role: "region", "aria-label": "Operands" }, element("table", {},
  element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, formula(text))))),
  element("tbody", {}, ...rows.map((cells, at) => element("tr", { class: at === chosen ? "chosen" : null }, ...cells.map((cell) => element("td", {}, cell)))))));

const line = (...children) => element("p", { class: "sum" }, ...children);

// The products of two vectors and their sum.
function products(first, second, { trace, link }) {
  const [left, right] = [cellsOf(first), cellsOf(second)];
  const rows = left.map((cell, at) => ({ at, cell, other: right[at], product: cell.number * right[at].number }));
  const sorted = rows.length > LONG ? [...rows].sort((a, b) => Math.abs(b.product) - Math.abs(a.product)) : rows;
  const sum = rows.reduce((total, row) => total + row.product, 0);
  return [grid(["", first.symbol, second.symbol, "product"], sorted.map((row) => [runLabel(first, row.cell, trace), link(row.cell), link(row.other), exact(row.product)])),
    rows.length > LONG && element("p", { class: "quiet note" }, `All ${rows.length} products, the largest first.`), sum];
}

function linear(of, tools, result) {
  const [table, note, sum] = products(of.row, of.column, tools);
  return [table, note, line(`Σ = ${exact(sum)}`, ...(of.bias ? [" ,  + ", formula(of.bias.symbol), " ", tools.link(of.bias), ` = ${exact(result)}`] : []))];
}

function tokenAt({ name, index }, trace) {
  const { text, id } = (name.startsWith("encoder") ? trace.source_tokens : trace.target_in)[index[0]];
  return `the token ${text} (id ${id})`;
}

const OPS = {
  lookup: ({ cell, scale }, { link, trace, place }) => [paragraph(`The row of ${tokenAt(place, trace)} in the embedding matrix${scale === null ? ":" : ", times the square root of the width:"}`),
    line(link(cell), scale === null ? "" : ` · ${exact(scale)} = ${exact(cell.number * scale)}`)],
  position: ({ function: wave, position, angle, pair, size }, _, result) => [
    line(formula(`angle = ${position} / 10000^{2 · ${pair} / ${size}}`), ` = ${exact(angle)}`), line(`${wave}(${exact(angle)}) = ${exact(result)}`)],
  angle: ({ position, angle, pair, size }) => [line(formula(`${position} / 10000^{2 · ${pair} / ${size}}`), ` = ${exact(angle)}`)],
  row: ({ cell }, { link }) => [paragraph("The learned vector of this position:"), line(link(cell))],
  copy: ({ cell }, { link }) => [paragraph("The same number under another name:"), line(link(cell))],
  add: ({ cells }, { link }, result) => [line(...cells.flatMap((cell, at) => [at ? " + " : "", link(cell)]), ` = ${exact(result)}`)],
  mean: ({ cells }, { link, trace }, result) => [grid(["", "number"], cells.map((cell) => [labelOf(cell.name, 0, cell.index[0], trace), link(cell)])),
    line(`sum / ${cells.length} = ${exact(result)}`)],
  linear,
  scores: (of, tools) => {
    const [table, note, sum] = products(of.query, of.key, tools);
    return [table, note, line(`Σ = ${exact(sum)}${of.divisor === 1 ? "" : ` ,  / √${of.size} = ${exact(sum / of.divisor)}`}`)];
  },
  mask: ({ cell, allowed }, { link }, result) => [paragraph(allowed ? "The query may attend to this key: the score stays." :
    "The query may not attend to this key: whatever the score is, it becomes −∞."), line(link(cell), ` → ${exact(result)}`)],
  softmax: ({ row, exponentials, maximum, total, at }, { trace, link }, result) => [
    grid(["", row.symbol, "e^{x − max}", "share"], cellsOf(row).map((cell, place) => [runLabel(row, cell, trace), link(cell), exact(exponentials[place]), exact(exponentials[place] / total)]), at),
    line(`largest score: ${exact(maximum)};  sum of the exponentials: ${exact(total)}`), line(`${exact(exponentials[at])} / ${exact(total)} = ${exact(result)}`)],
  weighted_sum: (of, tools, result) => {
    const [table, note] = products(of.weights, of.values, tools);
    return [table, note, line(`Σ = ${exact(result)}`)];
  },
  norm: ({ norm, row, at, mean, variance, epsilon, gamma, beta }, { trace, link }, result) => {
    const cells = cellsOf(row);
    const sd = Math.sqrt(variance + epsilon);
    const centred = row.numbers[at] - (mean ?? 0);
    return [
      norm === "batch" ? paragraph("Mean and variance of this feature were gathered in training:") : paragraph(`Over the ${cells.length} features of the row:`),
      mean !== null && line(`mean = ${exact(mean)}`),
      line(`${norm === "rms" ? "mean of squares" : "variance"} = ${exact(variance)},  √(${exact(variance)} + ${exact(epsilon)}) = ${exact(sd)}`),
      line("(", link(cells[at]), mean === null ? "" : ` − ${exact(mean)}`, `) / ${exact(sd)} = ${exact(centred / sd)}`),
      line("· ", formula(gamma.symbol), " ", link(gamma), ...(beta ? [" + ", formula(beta.symbol), " ", link(beta)] : []), ` = ${exact(result)}`),
      norm !== "batch" && element("details", {}, element("summary", {}, "The row"), grid(["", row.symbol], cells.map((cell) => [runLabel(row, cell, trace), link(cell)]), at))];
  },
  activation: (of, tools, result) => [...linear(of.of, tools, of.of.number),
    line(`${of.function}(${exact(of.of.number)})`, ...(of.gate ? [` · ${exact(of.gate.number)}`] : []), ` = ${exact(result)}`),
    of.gate && element("details", {}, element("summary", {}, "The gate"), ...linear(of.gate, tools, of.gate.number))],
  rotate: (of, tools, result) => {
    const [first, second] = of.pair;
    const angle = tools.link(of.angle);
    return [paragraph("Two features are turned by the angle of the position:"),
      ...of.pair.map((each, at) => element("details", {}, element("summary", {}, `${at ? "second" : "first"} = ${exact(each.number)}`), ...linear(each, tools, each.number))),
      line("angle ", angle), line(of.at ? `first · sin + second · cos = ${exact(first.number * Math.sin(of.angle.number) + second.number * Math.cos(of.angle.number))}`
        : `first · cos − second · sin = ${exact(first.number * Math.cos(of.angle.number) - second.number * Math.sin(of.angle.number))}`)];
  },
};

function draw(computation, tools, result) {
  if (!computation) return [];
  return (OPS[computation.op]?.(computation, tools, result) ?? [paragraph(computation.note ?? "")]).filter(Boolean);
}
