// The stage of beam search: the tree of all candidates, and the finished hypotheses.

import { element, number, paragraph, svg, table } from "../dom.js";

const [WIDE, HIGH] = [112, 34]; // pixels from step to step, and from candidate to candidate
const OUTCOMES = { lived: "kept", ended: "finished", died: "pruned" };

export function drawBeam(view) {
  const { trace, step } = view;
  const { beam } = trace;
  const agreement = trace.given || trace.engine === "reference" ? "" : ` The ${trace.engine} engine found ${beam.agrees ? "the same" : "another"} best hypothesis.`;
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const tree = element("div", { class: "scroll" });
  const redraw = () => tree.replaceChildren(drawTree(beam.nodes, pruned.checked, step, readout));
  const pruned = element("input", { type: "checkbox", checked: true, onchange: redraw });
  redraw();
  return [
    paragraph(`Beam search keeps ${beam.width} hypotheses. At each step every one is extended; the best are kept, those that reach the end ` +
      `are finished (framed, with their score), the others are pruned. The chosen step is shaded.${agreement}`),
    element("label", { class: "toggle" }, pruned, " pruned candidates"), tree, readout,
    element("h3", {}, "Finished hypotheses"),
    table(["score", "hypothesis"], beam.finished.map((each) =>
      [number(each.score), each.text + (each.ended ? "" : "  (cut at the greatest length)")]), 0),
    element("h3", {}, "The score of the translation"),
    ...view.equations(),
    table(["score", "engine", "arithmetic", "among"], trace.scores.map((each) => [number(each.score), each.engine, each.compute_type, `${each.vocabulary} tokens`])),
    trace.scores.length > 1 && element("p", { class: "quiet" }, "Engines round differently, and a search among the tokens of one language alone divides the probability " +
      "among fewer: so the scores differ a little. The formula is that of the last one. Every other number of this walk is by the reference, in float64."),
  ];
}

// Steps run to the right; at each step the candidates stand below each other, the best on top.
function drawTree(nodes, withPruned, step, readout) {
  const shown = nodes.map((node, id) => ({ ...node, id })).filter((node) => withPruned || node.fate !== "died");
  let row = 0;
  shown.forEach((node, at) => {
    row = shown[at - 1]?.step === node.step ? row + 1 : 0;
    Object.assign(node, { x: 38 + node.step * WIDE, y: 20 + row * HIGH, kind: `${node.fate}${node.best ? " best" : ""}` });
  });
  const placed = new Map(shown.map((node) => [node.id, node]));
  const line = (node, from) => svg("path", { class: node.kind,
    d: `M${from.x + 34} ${from.y}C${from.x + 60} ${from.y} ${node.x - 60} ${node.y} ${node.x - 34} ${node.y}` });
  const lines = shown.filter((node) => node.parent >= 0).sort((a, b) => a.best - b.best).map((node) => line(node, placed.get(node.parent)));
  for (const node of shown) node.group = drawNode(node, () => choose(node));
  let current = null;

  function choose(node) {
    current?.group.classList.remove("current");
    current = node;
    current.group.classList.add("current");
    const words = [];
    for (let at = node.id; at >= 0; at = nodes[at].parent) words.unshift(nodes[at].text);
    const scored = `log-probability ${number(node.log_prob)}, score ${number(node.score)}, ${OUTCOMES[node.fate]}`;
    readout.textContent = `${words.join(" ")}   ·  ${scored}`;
  }

  function move(event) {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const at = shown.indexOf(current);
    const to = !current ? shown[0] : { ArrowUp: shown[at - 1], ArrowDown: shown[at + 1],
      ArrowLeft: placed.get(current.parent), ArrowRight: shown.find((node) => node.parent === current.id) }[event.key];
    if (to) choose(to);
  }

  const high = 20 + Math.max(...shown.map((node) => node.y));
  return svg("svg", { class: "tree", width: 76 + WIDE * shown.at(-1).step, height: high, tabindex: 0,
    role: "application", "aria-roledescription": "tree", "aria-label": "The tree of the beam. The arrow keys move from candidate to candidate.", onkeydown: move },
  svg("rect", { class: "step", x: step * WIDE, y: 2, width: 76, height: high - 4 }), ...lines, ...shown.map((node) => node.group));
}

function drawNode(node, choose) {
  const finished = node.fate === "ended";
  return svg("g", { class: node.kind, onpointerenter: choose },
    svg("rect", { x: node.x - 34, y: node.y - 13, width: 68, height: 27 }),
    svg("text", { x: node.x, y: node.y - (finished ? 4 : 0) }, node.text.length > 9 ? `${node.text.slice(0, 8)}…` : node.text),
    finished && svg("text", { class: "score", x: node.x, y: node.y + 8 }, number(node.score)));
}
