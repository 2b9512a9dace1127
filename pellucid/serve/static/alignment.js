// Which words belong together: the cross-attention of a trace, gathered from tokens to words.

import { colour, element, mix, percent } from "./heatmap.js";

const SPECIAL = /^<(s|\/s|2[\w-]+)>$/;
const SPACE = "▁";

// Tokens joined to words: one begins at a space, and wherever letters and signs meet.
export function words(tokens) {
  const found = [];
  let kind = "";
  tokens.forEach((token, at) => {
    const text = token.text.replaceAll(SPACE, " ").trim();
    const own = SPECIAL.test(token.text) ? "special" : /[\p{L}\p{N}⟨]/u.test(text) ? "word" : text ? "sign" : kind;
    const begins = token.text.startsWith(SPACE) || own !== kind || own === "special" || !found.length;
    if (begins) found.push({ text: "", tokens: [], spaced: token.text.startsWith(SPACE), special: own === "special" });
    found.at(-1).text += text;
    found.at(-1).tokens.push(at);
    kind = text ? own : "";
  });
  return found.filter((word) => word.text).map((word) => ({ ...word, text: whole(word.text) }));
}

// Bytes that became tokens by themselves, ⟨C3⟩⟨BC⟩, are a character again once they stand together.
function whole(text) {
  return text.replace(/(⟨[0-9A-F]{2}⟩)+/g, (bytes) =>
    new TextDecoder().decode(Uint8Array.from(bytes.match(/[0-9A-F]{2}/g), (byte) => parseInt(byte, 16))));
}

// How much of each source word went into each target word: rows are target words.
export function weights(alignment, targets, sources) {
  const sum = (row, word) => word.tokens.reduce((total, at) => total + row[at], 0);
  return targets.map((target) => sources.map((source) =>
    target.tokens.reduce((total, at) => total + sum(alignment[at], source), 0) / target.tokens.length));
}

export function showAlignment(where, trace) {
  const sides = {
    source: words(trace.source_tokens.slice(0, trace.alignment[0].length)),
    target: words(trace.target_out.slice(0, trace.alignment.length)),
  };
  const table = weights(trace.alignment, sides.target, sides.source);
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const lines = Object.fromEntries(Object.entries(sides).map(([side, all]) => [side, line(side, all, choose)]));

  function choose(side, at) {
    const shares = side === "target" ? table[at] : table.map((row) => row[at]);
    const other = side === "target" ? "source" : "target";
    const [low, high] = [colour("card"), colour("accent")];
    const chips = { [side]: [...lines[side].children], [other]: [...lines[other].children] };
    chips[side].forEach((chip, each) => {
      chip.setAttribute("aria-pressed", each === at);
      chip.tabIndex = each === at ? 0 : -1;
      tint(chip, 0);
    });
    chips[other].forEach((chip, each) => {
      chip.setAttribute("aria-pressed", false);
      tint(chip, shares[each]);
    });
    const best = shares.map((share, each) => [share, each]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([share]) => share >= 0.01);
    const told = best.map(([share, each]) => `${sides[other][each].text} (${percent(share)})`).join(",  ");
    readout.textContent = `${sides[side][at].text}  ${side === "target" ? "←" : "→"}  ${told || "nothing in particular"}`;

    function tint(chip, share) {
      chip.style.backgroundColor = share > 0.01 ? `rgb(${mix(low, high, Math.min(1, share))})` : "";
      chip.classList.toggle("strong", share > 0.5);
    }
  }

  const notes = trace.notes.map((note) => element("p", { class: "quiet" }, note));
  if (table.length && table[0].length) choose("target", sharpest(table));
  where.replaceChildren(lines.source, lines.target, readout, ...notes);
}

// The row with the clearest answer: the one to begin with.
function sharpest(table) {
  const most = table.map((row) => Math.max(...row.slice(0, -1))); // the last is the end of the source, which says little
  return most.indexOf(Math.max(...most));
}

function line(side, all, choose) {
  const chips = all.map((word, at) => element("button", {
    type: "button", class: `word${word.special ? " special" : ""}`, "aria-pressed": "false", tabindex: at ? -1 : 0,
    onpointerenter: () => choose(side, at), onfocus: () => choose(side, at), onclick: () => choose(side, at),
    onkeydown: (event) => {
      const next = chips[at + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0)];
      if (next && next !== chips[at]) next.focus();
    },
  }, word.text));
  return element("div", { class: "words", role: "group", "aria-label": `Words of the ${side}` }, ...chips);
}
