// The alignment of source and target: words that can be pointed at, and the attention weights between all tokens.

import { element, largestAt, paragraph, percent } from "../dom.js";
import { colour, mix } from "../heatmap.js";
import { attentionLines } from "./lines.js";

const SPECIAL = /^<(s|\/s|2[\w-]+)>$/;
const SPACE = "▁";

// Tokens joined to words: one begins at a space, and wherever letters and punctuation meet.
function joinWords(tokens) {
  const words = [];
  let kind = "";
  tokens.forEach((token, at) => {
    const text = token.text.replaceAll(SPACE, " ").trim();
    const own = SPECIAL.test(token.text) ? "special" : /[\p{L}\p{N}⟨]/u.test(text) ? "word" : text ? "punctuation" : kind;
    const begins = token.text.startsWith(SPACE) || own !== kind || own === "special" || !words.length;
    if (begins) words.push({ text: "", tokens: [], special: own === "special" });
    words.at(-1).text += text;
    words.at(-1).tokens.push(at);
    kind = text ? own : "";
  });
  return words.filter((word) => word.text).map((word) => ({ ...word, text: joinBytes(word.text) }));
}

// Tokens that are single bytes, ⟨C3⟩⟨BC⟩, are a character again once they stand together.
const joinBytes = (text) => text.replace(/(⟨[0-9A-F]{2}⟩)+/g, (bytes) =>
  new TextDecoder().decode(Uint8Array.from(bytes.match(/[0-9A-F]{2}/g), (byte) => parseInt(byte, 16))));

// The weight of each source word (column) for each target word (row): summed over source tokens, averaged over target tokens.
function wordWeights(weights, targets, sources) {
  const sum = (row, word) => word.tokens.reduce((total, at) => total + row[at], 0);
  return targets.map((target) => sources.map((source) =>
    target.tokens.reduce((total, at) => total + sum(weights[at], source), 0) / target.tokens.length));
}

// Both sentences word by word, and a line that says to which words of the other side the chosen one is aligned.
export function alignedWords(trace) {
  const sides = {
    source: joinWords(trace.source_tokens.slice(0, trace.alignment[0].length)),
    target: joinWords(trace.target_out.slice(0, trace.alignment.length)),
  };
  const weights = wordWeights(trace.alignment, sides.target, sides.source);
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const chips = { source: wordChips("source", sides.source, choose), target: wordChips("target", sides.target, choose) };

  function choose(side, at) {
    const other = side === "target" ? "source" : "target";
    const shares = side === "target" ? weights[at] : weights.map((row) => row[at]);
    const [low, high] = [colour("card"), colour("accent")];
    const draw = (chip, share, pressed) => {
      chip.style.backgroundColor = share > 0.01 ? `rgb(${mix(low, high, Math.min(1, share))})` : "";
      chip.classList.toggle("strong", share > 0.5);
      chip.setAttribute("aria-pressed", pressed);
    };
    chips[other].forEach((chip, index) => draw(chip, shares[index], false));
    chips[side].forEach((chip, index) => {
      draw(chip, 0, index === at);
      chip.tabIndex = index === at ? 0 : -1;
    });
    const best = shares.map((share, index) => [share, index]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([share]) => share >= 0.01);
    const aligned = best.map(([share, index]) => `${sides[other][index].text} (${percent(share)})`).join(",  ");
    readout.textContent = `${sides[side][at].text}  ${side === "target" ? "←" : "→"}  ${aligned || "nothing in particular"}`;
  }

  // Begin with the clearest row; the last source word is the end, which is aligned to little.
  if (weights[0]?.length) choose("target", largestAt(weights.map((row) => Math.max(...row.slice(0, -1)))));
  const group = (side) => element("div", { class: "words", role: "group", "aria-label": `Words of the ${side}` }, ...chips[side]);
  return [group("source"), group("target"), readout];
}

function wordChips(side, words, choose) {
  const chips = words.map((word, at) => element("button", {
    type: "button", class: `word${word.special ? " special" : ""}`, "aria-pressed": "false", tabindex: at ? -1 : 0,
    onpointerenter: () => choose(side, at), onfocus: () => choose(side, at), onclick: () => choose(side, at),
    onkeydown: ({ key }) => chips[at + ({ ArrowLeft: -1, ArrowRight: 1 }[key] || 0)]?.focus(),
  }, word.text));
  return chips;
}

export function drawAlignment(view) {
  const layer = Math.max(0, view.config.decoder_layers - 2);
  const targets = view.trace.target_out.map((token) => token.text);
  return [
    paragraph(`The alignment is the mean of the cross-attention weights of all heads of decoder layer ${layer}. Point at a word, or go ` +
      "through the words with the arrow keys, to see the words of the other side that have most of the weight."),
    ...view.equations(),
    element("div", { class: "side" }, element("div", {}, ...alignedWords(view.trace)),
      view.square(view.trace.alignment, "alignment", { kind: "weights", note: "row: token predicted, column: source token", rows: targets,
        columns: view.sourceKeys, name: "alignment", open: view.open && ((row, column) => view.open("alignment", [row, column])), at: view.opened("alignment", []) }),
      attentionLines(view.trace.alignment, targets, view.sourceKeys, { label: "Alignment", name: "alignment", room: view.width - 54 })),
  ];
}
