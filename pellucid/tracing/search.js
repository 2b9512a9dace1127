"use strict";

// The sections of the report on the search: every step's choice, and the tree of the beam.

// --- steps ---------------------------------------------------------------------------------------------------------

function drawSteps() {
  place("step").append(...trace.steps.map((step, at) => element("button", { class: `token${step.differs ? " differs" : ""}`, type: "button",
    title: `step ${at + 1}: ${percent(step.chosen.probability)}`, onclick: () => chooseStep(at),
    onkeydown: (event) => {
      const to = at + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0);
      if (to !== at && place("step").children[to]) { place("step").children[to].focus(); chooseStep(to); }
    } }, step.chosen.text)));
  const least = trace.steps.reduce((best, step, at) => (step.entropy > trace.steps[best].entropy ? at : best), 0);
  chooseStep(least);
}

function chooseStep(at) {
  const step = trace.steps[at];
  [...place("step").children].forEach((button, other) => {
    button.setAttribute("aria-pressed", other === at);
  });
  const rank = step.rank ? `It was number ${step.rank + 1} of the vocabulary.` : "It was the likeliest.";
  const differs = step.differs ? ` ≠ ${trace.engine} alone would have preferred ${step.engine.text} (${percent(step.engine.probability)}).` : "";
  place("step-about").textContent = `Step ${at + 1}: ${step.chosen.text} was said, with ${percent(step.chosen.probability)}. ${rank} ` +
    `The choice was open by ${step.entropy.toFixed(2)} bits.${differs}`;
  const names = { greedy: "greedy", top_k: "top-k", top_p: "top-p" };
  const headings = ["token", ["share", "wide"], ["probability", "number"],
    ...step.pools.map((pool) => [pool.rule === "greedy" ? "greedy" : `${names[pool.rule]} ${pool.setting} (of ${pool.size})`, "number"])];
  place("candidates").replaceChildren(table(headings, step.candidates.map((candidate, rankHere) => ({
    said: candidate.id === step.chosen.id,
    cells: [candidate.text, [bar(candidate.probability), "wide"], [percent(candidate.probability), "number"],
      ...step.pools.map((pool) => [rankHere < pool.size ? percent(candidate.probability / pool.probability) : "", "number"])],
  }))));
  place("lens").replaceChildren(table(["layer", "likeliest", "second", "third", ["what was said", "number"]], step.lens.map((reading) => ({
    said: false,
    cells: [String(reading.layer), ...reading.candidates.map((candidate) => element("span", { class: candidate.id === step.chosen.id ? "said" : null },
      candidate.text, element("small", {}, percent(candidate.probability)))), [`${percent(reading.probability)}, number ${reading.rank + 1}`, "number"]],
  }))));
}

function bar(share) {
  const made = element("span", { class: "bar" });
  made.style.width = `${100 * share}%`;
  return made;
}

// --- beam ----------------------------------------------------------------------------------------------------------

function drawBeam() {
  const { beam } = trace;
  const agreed = trace.given ? "" : beam.agrees ? ` ${trace.engine} found the same best hypothesis.` : ` ${trace.engine} found another best hypothesis.`;
  place("beam-about").textContent = `${beam.width} hypotheses live side by side. At each step every one is continued; the best live on, ` +
    `those that reach the end are finished (framed, with their score: log-probability / length), the others die.${agreed}`;
  place("finished").append(table([["score", "number"], "hypothesis"], beam.finished.map((each, rank) => ({
    said: rank === 0, cells: [[number(each.score), "number"], each.text + (each.ended ? "" : "  (cut at the greatest length)")],
  }))));
  place("died").addEventListener("change", drawTree);
  drawTree();
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, content] of Object.entries(attributes)) made.setAttribute(key, content);
  made.append(...children);
  return made;
}

function drawTree() {
  const { nodes } = trace.beam;
  const shown = nodes.map((node, id) => ({ ...node, id })).filter((node) => place("died").checked || node.fate !== "died");
  const rows = new Map();
  const [wide, high] = [112, 34];
  let last = -1;
  let row = 0;
  for (const node of shown) {
    row = node.step === last ? row + 1 : 0;
    last = node.step;
    rows.set(node.id, row);
  }
  const x = (node) => 38 + node.step * wide;
  const y = (node) => 20 + rows.get(node.id) * high;
  const kind = (node) => `${node.fate}${node.best ? " best" : ""}`;
  const lines = shown.filter((node) => node.parent >= 0).sort((a, b) => a.best - b.best).map((node) => {
    const from = nodes[node.parent];
    const [x1, y1, x2, y2] = [38 + from.step * wide + 34, 20 + rows.get(node.parent) * high, x(node) - 34, y(node)];
    return svg("path", { class: kind(node), d: `M${x1} ${y1}C${x1 + 26} ${y1} ${x2 - 26} ${y2} ${x2} ${y2}` });
  });
  const groups = new Map(shown.map((node) => {
    const text = svg("text", { x: x(node), y: y(node) - (node.fate === "ended" ? 4 : 0) }, node.text.length > 9 ? `${node.text.slice(0, 8)}…` : node.text);
    const box = svg("rect", { x: x(node) - 34, y: y(node) - 13, width: 68, height: 27 });
    const score = node.fate === "ended" ? [svg("text", { class: "score", x: x(node), y: y(node) + 8 }, number(node.score))] : [];
    const group = svg("g", { class: kind(node) }, box, text, ...score);
    group.addEventListener("pointerenter", () => choose(node.id));
    return [node.id, group];
  }));
  const tall = 40 + high * Math.max(...rows.values());
  const picture = svg("svg", { width: 76 + wide * last, height: tall, tabindex: 0, role: "img",
    "aria-label": "The tree of the beam. The arrow keys move from candidate to candidate." }, ...lines, ...groups.values());
  let current = null;

  function choose(id) {
    if (current !== null) groups.get(current).classList.remove("current");
    current = id;
    groups.get(id).classList.add("current");
    const said = [];
    for (let at = id; at >= 0; at = nodes[at].parent) said.unshift(nodes[at].text);
    const node = nodes[id];
    place("hypothesis").textContent = `${said.join(" ")}   ·  log-probability ${number(node.log_prob)}, score ${number(node.score)}, ${node.fate}`;
  }

  picture.addEventListener("keydown", (event) => {
    const at = shown.findIndex((node) => node.id === current);
    const here = shown[at];
    const to = !here ? shown[0] : {
      ArrowUp: shown[at - 1], ArrowDown: shown[at + 1],
      ArrowLeft: shown.find((node) => node.id === here.parent), ArrowRight: shown.find((node) => node.parent === here.id),
    }[event.key];
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (to) choose(to.id);
  });
  place("tree").replaceChildren(picture);
}
