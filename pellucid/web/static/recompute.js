// The computation of a cell from what the trace itself holds: for a report, which has no server and no matrices of weights.

const ROUNDED = "From the numbers of this file, rounded to seven digits (float32).";

// In the shape that the server answers with.
export async function recompute(trace, { name, index }) {
  const formula = trace.formulas.findIndex((each) => each.value === name);
  const of = trace.formulas[formula];
  const number = name === "alignment" ? trace.alignment[index[0]][index[1]] : at(trace, name, index);
  const answer = { value: name, index, symbol: of?.symbol ?? name, number, formula: of ? formula : null, changed: of?.changed ?? [] };
  const operation = name === "alignment" ? "mean" : of?.operation;
  const computation = COMPUTE[operation]?.(trace, of, index);
  const missing = `The matrix of weights is not in this file, or not all features of the vectors are. The page shows the products, and so does: ` +
    `pellucid explain … --cell ${[name, ...index].join(".")}`;
  return { ...answer, computation: computation ? { op: operation, ...computation } : { op: null, note: missing }, note: ROUNDED };
}

const at = (trace, name, index) => index.reduce((values, place) => values?.[place], trace.values[name]?.values) ?? null;
const cell = (trace, name, index) => ({ kind: "value", name, symbol: symbolOf(trace, name), index, number: at(trace, name, index) });
const symbolOf = (trace, name) => trace.formulas.find((each) => each.value === name)?.symbol ?? name;
const valuesIn = (of) => of.terms.map((term) => of.operands[term]).filter((operand) => operand?.kind === "value").map((operand) => operand.name);

// The vector along the one null of `index`; null if the file has not all of it.
function vector(trace, name, index) {
  const recorded = trace.values[name];
  if (!recorded) return null;
  const size = recorded.shape[index.indexOf(null)];
  const numbers = Array.from({ length: size }, (_, place) => index.map((each) => each ?? place).reduce((values, each) => values?.[each], recorded.values));
  return numbers.includes(undefined) ? null : { kind: "value", name, symbol: symbolOf(trace, name), index, run: [size], numbers };
}

const keyHead = (trace, head) => Math.floor((head * (trace.config.kv_heads || trace.config.heads)) / trace.config.heads);

const COMPUTE = {
  add: (trace, of, index) => ({ cells: valuesIn(of).map((name) => cell(trace, name, index)) }),
  copy: (trace, of, index) => ({ cell: cell(trace, valuesIn(of)[0], index) }),
  mask: (trace, of, index) => ({ cell: cell(trace, valuesIn(of)[0], index), allowed: at(trace, of.value, index) !== null }),
  mean: (trace, _, index) => {
    const name = `decoder.layers.${Math.max(0, trace.config.decoder_layers - 2)}.cross_attention.weights`;
    return { cells: Array.from({ length: trace.config.heads }, (__, head) => cell(trace, name, [head, ...index])) };
  },
  softmax: (trace, of, [head, query, key]) => {
    const row = vector(trace, valuesIn(of)[0], [head, query, null]);
    if (!row) return null;
    const maximum = Math.max(...row.numbers.filter((score) => score !== null));
    const exponentials = row.numbers.map((score) => (score === null ? 0 : Math.exp(score - maximum)));
    return { row, exponentials, maximum, total: exponentials.reduce((sum, each) => sum + each, 0), at: key };
  },
  scores: (trace, of, [head, query, key]) => {
    const prefix = of.value.slice(0, of.value.lastIndexOf("."));
    const [asked, found] = [vector(trace, `${prefix}.query`, [head, query, null]), vector(trace, `${prefix}.key`, [keyHead(trace, head), key, null])];
    if (!asked || !found) return null;
    const scaled = of.terms.includes("√");
    return { query: asked, key: found, size: asked.run[0], divisor: scaled ? Math.sqrt(asked.run[0]) : 1 };
  },
  weighted_sum: (trace, of, [head, query, feature]) => {
    const prefix = of.value.slice(0, of.value.lastIndexOf("."));
    const [weights, values] = [vector(trace, `${prefix}.weights`, [head, query, null]), vector(trace, `${prefix}.value`, [keyHead(trace, head), null, feature])];
    return weights && values && { weights, values };
  },
  norm: (trace, of, index) => {
    const read = valuesIn(of)[0];
    const row = vector(trace, read, [index[0], null]);
    const weight = (end) => Object.entries(trace.norms).find(([name]) => Object.values(of.operands).some((operand) => operand.name === name) && name.endsWith(end));
    const [gamma, beta] = [weight(".weight"), weight(".bias")].map((found) => found && { kind: "weight", name: found[0], symbol: found[0].endsWith("bias") ? "β" : "γ", index: [index[1]], number: found[1][index[1]] });
    if (!row || !gamma || trace.config.norm === "batch") return null;
    const rms = trace.config.norm === "rms";
    const mean = rms ? 0 : row.numbers.reduce((sum, each) => sum + each, 0) / row.numbers.length;
    const variance = row.numbers.reduce((sum, each) => sum + (each - mean) ** 2, 0) / row.numbers.length;
    return { norm: trace.config.norm, row, at: index[1], mean: rms ? null : mean, variance, epsilon: 1e-5, gamma, beta: beta ?? null };
  },
};
