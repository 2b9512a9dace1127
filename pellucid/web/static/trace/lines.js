// Attention as lines between words: queries on the left, keys on the right, a line as strong as its weight.

import { element, percent, svg } from "../dom.js";

const LINE = 26; // pixels from word to word
const GLYPH = 7.2; // and of a letter, about
const FEWEST = 0.01; // a weight below it has no line

// `weights` (query, key). Pointing at a word, or the arrow keys, show its own lines alone. `name` is that of the value.
export function attentionLines(weights, queries, keys, { label, name, room = 440 }) {
  const column = Math.min(138, Math.floor((room - 60) / 2)); // pixels for the words of a side
  const span = Math.min(160, room - 2 * column); // and between the sides
  const high = LINE * Math.max(weights.length, weights[0].length);
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const [left, right] = [column, column + span];
  const at = (index) => LINE * (index + 0.5);
  const links = weights.flatMap((row, query) => row.map((weight, key) => ({ weight, query, key }))).filter(({ weight }) => weight >= FEWEST);
  for (const link of links) {
    const [from, to] = [at(link.query), at(link.key)];
    link.drawn = svg("path", { d: `M${left + 6} ${from}C${left + span / 2} ${from} ${left + span / 2} ${to} ${right - 6} ${to}`,
      "stroke-opacity": Math.min(1, 0.08 + link.weight ** 0.8).toFixed(2), "stroke-width": (0.6 + 4 * link.weight).toFixed(1) });
  }
  const sides = { query: words(queries, "query", left, "end"), key: words(keys, "key", right, "start") };
  let current = null;

  function words(texts, side, x, anchor) {
    return texts.slice(0, side === "query" ? weights.length : weights[0].length).map((text, index) => svg("text", {
      x, y: at(index), "text-anchor": anchor, onpointerenter: () => choose(side, index) }, clipped(text, column / GLYPH)));
  }

  // Without a side every line is shown.
  function choose(side, index) {
    current = side && [side, index];
    const own = links.filter((link) => !side || link[side] === index);
    for (const link of links) link.drawn.classList.toggle("off", !own.includes(link));
    for (const each of ["query", "key"]) {
      sides[each].forEach((word, place) => {
        const chosen = side === each && place === index;
        const share = side && side !== each ? own.find((link) => link[each] === place)?.weight ?? 0 : 0;
        word.classList.toggle("chosen", chosen);
        word.classList.toggle("strong", share > 0.1);
        word.classList.toggle("off", Boolean(side) && !chosen && share < 0.1);
      });
    }
    const other = side === "query" ? "key" : "query";
    const texts = { query: queries, key: keys };
    const best = [...own].sort((a, b) => b.weight - a.weight).slice(0, 4).map((link) => `${texts[other][link[other]]} ${percent(link.weight)}`);
    readout.textContent = side ? `${texts[side][index]} ${side === "query" ? "attends to" : "is attended to by"} ${best.join(", ") || "nothing in particular"}` : "";
  }

  function move(event) {
    if (event.key === "Escape" && current) choose(null);
    const by = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: 0, ArrowRight: 0 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const side = { ArrowLeft: "query", ArrowRight: "key" }[event.key] ?? current?.[0] ?? "query";
    const index = current ? current[1] + by : 0;
    choose(side, Math.max(0, Math.min(sides[side].length - 1, index)));
  }

  const drawn = svg("svg", { class: "lines", width: right + column, height: high, tabindex: 0, role: "application", "aria-roledescription": "lines",
    "aria-label": `${label}, as lines. ↑ and ↓ go from word to word, ← and → from side to side, Escape shows all.`, "data-control": `lines-${name}`,
    onkeydown: move, onpointerleave: () => choose(null) }, svg("g", { class: "links" }, ...links.map((link) => link.drawn)), ...sides.query, ...sides.key);
  return element("figure", { class: "as-lines" }, element("figcaption", {}, element("small", {}, "left: query; right: key")),
    element("div", { class: "scroll" }, drawn), readout);
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
