// Attention: the weights of one head as lines, and every head of every layer at a glance with one of them large.

import { element, paragraph, percent } from "../dom.js";
import { thumbnail } from "../heatmap.js";
import { attentionLines } from "./lines.js";
import { layersOf } from "./parts.js";
import { figures } from "./view.js";

export const ATTENTIONS = { "encoder.self_attention": "Encoder, self-attention", "decoder.self_attention": "Decoder, masked self-attention",
  "decoder.cross_attention": "Decoder, cross-attention" };
const ATTENDED = { itself: "itself", previous: "the token before", next: "the token after", first: "the first token", end: "the end" };

// The weights of the chosen head as lines between the words.
export function weightLines(view, name) {
  const { rows, columns } = view.sides(name);
  return attentionLines(view.trace.values[name].values[view.head], rows, columns, { label: `Attention weights of head ${view.head}`, name, room: view.width - 54 });
}

const attends = (view, part, layer, head) =>
  view.trace.heads.find((each) => each.part === part && each.layer === layer && each.head === head);

// Where a head mostly attends to, in words.
function habit({ mainly, spread, ...weights }) {
  return mainly ? `attends to ${ATTENDED[mainly]}, ${percent(weights[mainly])}` : `spread over about ${spread.toFixed(1)} tokens`;
}

// Every head of every layer of one attention; a click chooses it.
function overview(view, part, size) {
  const kind = view.chosen.show === "scores" ? "signed" : "weights";
  const layers = layersOf(view.config, part.split(".")[0]);
  const row = (layer) => element("div", { class: "row" }, element("span", {}, `layer ${layer}`),
    ...view.trace.values[view.attention(view.chosen.show, part, layer)].values.map((values, head) => element("button", {
      type: "button", class: "thumbnail", "data-control": `${part}-${layer}-${head}`, "aria-pressed": String(isChosen(view, part, layer, head)),
      "aria-label": `${ATTENTIONS[part]}, layer ${layer}, head ${head}`, title: `layer ${layer}, head ${head}: ${habit(attends(view, part, layer, head))}`,
      onclick: () => view.choose({ part, layer, head }),
    }, thumbnail(values, size, kind))));
  return element("section", { class: "overview" }, element("h3", {}, ATTENTIONS[part]),
    element("div", { class: "scroll", role: "group", "aria-label": `Every head: ${ATTENTIONS[part]}` }, ...Array.from({ length: layers }, (_, layer) => row(layer))));
}

const isChosen = (view, part, layer, head) => part === view.chosen.part && layer === Math.min(view.chosen.layer, layersOf(view.config, part.split(".")[0]) - 1)
  && head === view.head;

export function drawHeads(view) {
  const { part, show } = view.chosen;
  const layer = Math.min(view.chosen.layer, layersOf(view.config, part.split(".")[0]) - 1);
  const name = view.attention(show, part, layer);
  const head = attends(view, part, layer, view.head);
  const shares = Object.entries(ATTENDED).filter(([key]) => head[key] !== null).map(([key, text]) => `${text} ${percent(head[key])}`);
  const size = view.config.heads > 8 ? 34 : 46;
  return [
    paragraph("Every head has its own projections, and attends to other tokens. All of them are here, small; choose one to see it large, and in all stages."),
    element("div", { class: "overviews" }, ...Object.keys(ATTENTIONS).map((each) => overview(view, each, size))),
    element("h3", { class: "stage-name" }, `${ATTENTIONS[part]}, layer ${layer}, head ${view.head}`),
    figures(view.value(name, { beside: 2, note: `${show}; row: query, column: key` }), show === "weights" && weightLines(view, name)),
    element("p", { class: "quiet" }, `Mean weights: ${shares.join(", ")}; spread over about ${head.spread.toFixed(1)} tokens. `,
      view.href && element("a", { href: view.href({ stage: `${part}.softmax`, layer, head: view.head }) }, "Open how they are computed")),
  ];
}
