"use strict";

// The report of one trace. `trace` is the data of `Trace.to_json()`; each section below draws one part of it.

const trace = JSON.parse(document.getElementById("trace").textContent);
const place = (id) => document.getElementById(id);
const words = { source: trace.source_tokens.map(shownText), in: trace.target_in.map(shownText), out: trace.target_out.map(shownText) };
const parts = {
  "encoder.self_attention": { name: "encoder: source to source", queries: words.source, keys: words.source },
  "decoder.self_attention": { name: "decoder: target to target", queries: words.in, keys: words.in },
  "decoder.cross_attention": { name: "cross: target to source", queries: words.in, keys: words.source },
};
const chosen = { part: "decoder.cross_attention", ...sharpestHead("decoder.cross_attention"), shown: "weights", stack: "encoder" };

function shownText(token) {
  return token.text;
}

// The head that looks at the fewest tokens: the easiest to read.
function sharpestHead(part) {
  const heads = trace.heads.filter((each) => each.part === part);
  const { layer, head } = heads.reduce((best, each) => (each.spread < best.spread ? each : best));
  return { layer, head };
}

function value(name) {
  return trace.values[name];
}

function shape(of) {
  const kept = of.axes.at(-1) === "feature" && of.shape.at(-1) > trace.kept.features ? `, the first ${trace.kept.features} features shown` : "";
  return of.shape.join(" × ") + kept;
}

function choice(id, options, key, changed) {
  for (const [option, label] of Object.entries(options)) {
    const input = element("input", { type: "radio", name: id, value: option, checked: chosen[key] === option,
      onchange: () => { chosen[key] = option; changed(); } });
    place(id).append(element("label", {}, input, ` ${label}`));
  }
}

function table(headings, rows) {
  const cell = (name) => (content) => {
    const [text, kind] = Array.isArray(content) ? content : [content, ""];
    return element(name, { class: kind || null, scope: name === "th" ? "col" : null }, text);
  };
  return element("table", {}, element("thead", {}, element("tr", {}, ...headings.map(cell("th")))),
    element("tbody", {}, ...rows.map(({ cells, said }) => element("tr", { class: said ? "said" : null }, ...cells.map(cell("td"))))));
}

// --- words ---------------------------------------------------------------------------------------------------------

function drawHeader() {
  const way = trace.source ? `${trace.source} → ${trace.target}, ` : "";
  const by = trace.given ? "the target was given" : `searched by ${trace.engine}`;
  place("about").textContent = `The trace of one translation · ${way}model ${trace.model} · ${by} · every number by the reference`;
  place("text").textContent = trace.text;
  place("translation").textContent = trace.translation;
  place("notes").append(...trace.notes.map((note) => element("li", {}, note)));
}

function drawWords() {
  const rows = trace.alignment.length;
  const columns = trace.alignment[0].length;
  const sides = {
    source: { tokens: trace.source_tokens.slice(0, columns), other: "target", weights: (at) => trace.alignment.map((row) => row[at]) },
    target: { tokens: trace.target_out.slice(0, rows), other: "source", weights: (at) => trace.alignment[at] },
  };
  const choose = (side, at) => {
    const [low, high] = [colour("low"), colour("accent")];
    const weights = sides[side].weights(at);
    const total = side === "source" ? Math.max(1, ...weights) : 1;
    for (const name of ["source", "target"]) [...place(name).children].forEach((chip, other) => {
      chip.setAttribute("aria-pressed", name === side && other === at);
      const share = name === side ? 0 : weights[other] / total;
      chip.classList.toggle("strong", share > 0.5);
      chip.style.setProperty("--tint-of", share ? `rgb(${mix(low, high, share)})` : "var(--paper)");
    });
    const best = weights.map((weight, other) => [weight, other]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const told = best.filter(([weight]) => weight >= 0.01).map(([weight, other]) => `${sides[sides[side].other].tokens[other].text} ${percent(weight)}`);
    place("aligned").textContent = `${sides[side].tokens[at].text}  ${side === "source" ? "→" : "←"}  ${told.join(",  ")}`;
  };
  for (const [side, { tokens }] of Object.entries(sides)) place(side).append(...tokens.map((token, at) =>
    element("button", { class: "token", type: "button", title: `token ${token.id}, position ${at}`, "aria-pressed": "false",
      onpointerenter: () => choose(side, at), onfocus: () => choose(side, at), onclick: () => choose(side, at) }, token.text)));
  const most = Math.max(...trace.alignment.map((row) => row.indexOf(Math.max(...row)) === columns - 1 ? 0 : Math.max(...row)));
  choose("target", Math.max(0, trace.alignment.findIndex((row) => Math.max(...row) === most)));
  const size = cellSize(rows, columns);
  place("alignment").append(heatmap({ values: trace.alignment, rows: words.out, columns: words.source, kind: "weights",
    title: "Alignment", note: `${rows} × ${columns}: a row is a target token, a column a source token`, cell: [size, size] }));
}

function cellSize(rows, columns) {
  return Math.max(9, Math.min(32, Math.floor(600 / Math.max(rows, columns))));
}

// --- input ---------------------------------------------------------------------------------------------------------

function vectors(name, title, note, tokens) {
  const of = value(name);
  if (!of) return null;
  const columns = of.values[0].length;
  return heatmap({ values: of.values, rows: tokens.slice(0, of.values.length), title, note: `${note}${note ? "; " : ""}${shape(of)}`,
    cell: [Math.max(2, Math.min(9, Math.floor(330 / columns))), of.values.length > 32 ? 10 : 15] });
}

function drawInput() {
  const tokens = chosen.stack === "encoder" ? words.source : words.in;
  const scale = trace.config.embedding_scale ? "√d_{model} · " : "";
  const added = value(`${chosen.stack}.input.position`);
  place("input-figures").replaceChildren(...[
    vectors(`${chosen.stack}.input.embedding`, `${scale}E_{token}`, "the embedding", tokens),
    vectors(`${chosen.stack}.input.position`, "P_{position}", `${trace.config.positions} positions`, tokens),
    vectors(`${chosen.stack}.input.output`, added ? "E + P" : "X", "what the first layer sees", tokens),
  ].filter(Boolean));
}

// --- attention -----------------------------------------------------------------------------------------------------

function ofLayer(name) {
  return `${chosen.part.split(".")[0]}.layers.${chosen.layer}.${name}`;
}

function sublayer() {
  return chosen.part.split(".")[1];
}

function matrix(layer, head) {
  const [stack, kind] = chosen.part.split(".");
  return value(`${stack}.layers.${layer}.${kind}.${chosen.shown}`).values[head];
}

function layers() {
  return trace.config[`${chosen.part.split(".")[0]}_layers`];
}

function drawHeads() {
  chosen.layer = Math.min(chosen.layer, layers() - 1);
  const kind = chosen.shown === "weights" ? "weights" : "signed";
  const size = trace.config.heads > 8 ? 44 : trace.config.heads > 4 ? 58 : 84;
  place("heads").replaceChildren(...Array.from({ length: layers() }, (_, layer) => element("div", { class: "row" },
    element("span", {}, `layer ${layer}`), ...Array.from({ length: trace.config.heads }, (_unused, head) =>
      element("button", { class: "thumbnail", type: "button", "aria-label": `layer ${layer}, head ${head}`,
        title: `layer ${layer}, head ${head}`, "aria-pressed": chosen.layer === layer && chosen.head === head,
        onclick: () => chooseHead(layer, head) }, thumbnail(matrix(layer, head), size, kind))))));
  drawHead();
}

function chooseHead(layer, head) {
  Object.assign(chosen, { layer, head });
  [...place("heads").querySelectorAll("button")].forEach((button, at) =>
    button.setAttribute("aria-pressed", at === layer * trace.config.heads + head));
  drawHead();
}

function drawHead() {
  const { queries, keys } = parts[chosen.part];
  const values = matrix(chosen.layer, chosen.head);
  const size = cellSize(values.length, values[0].length);
  place("head").replaceChildren(heatmap({ values, rows: queries.slice(0, values.length), columns: keys.slice(0, values[0].length),
    kind: chosen.shown === "weights" ? "weights" : "signed",
    title: chosen.shown === "weights" ? "softmax(Q K^T / √d_{head})" : "Q K^T / √d_{head}",
    note: `layer ${chosen.layer}, head ${chosen.head}; ${value(ofLayer(`${sublayer()}.${chosen.shown}`)).shape.slice(1).join(" × ")}`,
    cell: [size, size] }));
  const look = trace.heads.find((each) => each.part === chosen.part && each.layer === chosen.layer && each.head === chosen.head);
  const looks = { itself: "itself", previous: "the token before", next: "the token after", first: "the first token", end: "the end" };
  const told = Object.entries(looks).filter(([key]) => look[key] !== null).map(([key, name]) => `${name} ${percent(look[key])}`);
  place("look").textContent = `On average this head gives ${told.join(", ")}. It divides its weight among about ${look.spread.toFixed(1)} tokens.`;
  drawLayer();
}

// --- one layer -----------------------------------------------------------------------------------------------------

function headVectors(word, head, title, note, tokens) {
  const of = value(ofLayer(`${sublayer()}.${word}`));
  const values = of.values[head];
  const kept = of.shape[2] > values[0].length ? `, the first ${values[0].length} features shown` : "";
  return heatmap({ values, rows: tokens.slice(0, values.length), title, note: `${note}; ${of.shape[1]} × ${of.shape[2]}${kept}`,
    cell: [Math.max(4, Math.min(9, Math.floor(280 / values[0].length))), values.length > 32 ? 10 : 15] });
}

function drawLayer() {
  const { queries, keys } = parts[chosen.part];
  const cross = chosen.part === "decoder.cross_attention";
  const group = trace.config.heads / (trace.config.kv_heads || trace.config.heads);
  const keyHead = Math.floor(chosen.head / group);
  const kind = sublayer();
  const pre = trace.config.norm_place === "pre";
  const norm = { layer: "LayerNorm", rms: "RMSNorm", batch: "BatchNorm" }[trace.config.norm];
  const activation = trace.config.activation === "swiglu" ? "SiLU(x W_1) · x W_3" : `${trace.config.activation}(x W_1)`;
  const turned = trace.config.positions === "rotary" && !cross ? ", turned by their positions" : "";
  const scores = value(ofLayer(`${kind}.scores`)).values[chosen.head];
  const weights = value(ofLayer(`${kind}.weights`)).values[chosen.head];
  const size = Math.max(9, Math.min(18, Math.floor(360 / Math.max(scores.length, scores[0].length))));
  const square = (values, title, note, how) => heatmap({ values, rows: queries.slice(0, values.length), title, note, kind: how,
    columns: keys.slice(0, values[0].length), cell: [size, size] });
  const mask = trace.masks[chosen.part].map((row) => row.map((open) => (open ? 1 : 0)));
  const residual = (name, title, note) => vectors(ofLayer(`${name}_residual.${note}`), title, "", queries);
  place("layer-about").textContent = `${parts[chosen.part].name} · layer ${chosen.layer}, head ${chosen.head}. Choose another head above.`;
  const asked = [
    pre ? residual(kind, `x = ${norm}(X)`, "norm") : null,
    headVectors("query", chosen.head, "Q = x W_Q", `what each token asks${turned}`, queries),
    headVectors("key", keyHead, cross ? "K = M W_K" : "K = x W_K", cross ? "what the source offers" : `what each token offers${turned}`, keys),
    headVectors("value", keyHead, cross ? "V = M W_V" : "V = x W_V", "what each token tells", keys),
  ];
  const compared = [
    chosen.part === "decoder.self_attention" ? square(mask, "mask", "1: may attend; no token sees the future", "weights") : null,
    square(scores, "S = Q K^T / √d_{head}", "scores; grey is masked", "signed"),
    square(weights, "A = softmax(S)", "weights: every row sums to 1", "weights"),
    headVectors("heads", chosen.head, "A V", "the values, weighted and summed", queries),
  ];
  const added = [
    vectors(ofLayer(`${kind}.output`), "[A_1V_1; A_2V_2; …] W_O", "all heads joined", queries),
    residual(kind, "X + attention", "sum"),
    pre ? null : residual(kind, `${norm}(X + attention)`, "norm"),
  ];
  const fed = [
    pre ? residual("feed_forward", `x = ${norm}(X)`, "norm") : null,
    vectors(ofLayer("feed_forward.hidden"), activation, "the wide part", queries),
    vectors(ofLayer("feed_forward.output"), "(…) W_2", "back to d_model", queries),
    residual("feed_forward", "X + feed-forward", "sum"),
    pre ? null : residual("feed_forward", `${norm}(X + feed-forward)`, "norm"),
  ];
  const groups = { "Queries, keys, values": asked, "Compare and gather": compared, "Join, add, normalise": added };
  if (chosen.part !== "decoder.self_attention") groups["Feed-forward"] = fed; // after it comes cross-attention
  place("layer-figures").replaceChildren(...Object.entries(groups).flatMap(([heading, figures]) =>
    [element("h3", {}, heading), element("div", { class: "figures" }, ...figures.filter(Boolean))]));
}

drawHeader();
drawWords();
choice("stack", { encoder: "source", decoder: "target" }, "stack", drawInput);
drawInput();
choice("part", Object.fromEntries(Object.entries(parts).map(([part, { name }]) => [part, name])), "part", drawHeads);
choice("shown", { weights: "weights", scores: "scores" }, "shown", drawHeads);
drawHeads();
drawSteps();
drawBeam();
place("kept").textContent = `Pictures show the first ${trace.kept.positions} positions at most, and say where features are cut; ` +
  "the numbers are those of the float64 reference. Made by Pellucid.";
