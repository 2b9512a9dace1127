// The walk through one trace: the stages beside the one that is read, where the reader is, and the cell that is open.
// What is chosen stands in the address, so every stage and cell is a link.

import { address, cellName, goTo, link, readCell } from "../address.js";
import { element, largestAt, refocus } from "../dom.js";
import { drawCell } from "./cell.js";
import { drawMap } from "./map.js";
import { placeOf, walkOf } from "./order.js";
import { drawStage } from "./stages.js";

const DEFAULTS = { stage: "map", layer: 0, head: 0, show: "weights", part: "decoder.cross_attention" };
const ATTENTION = /^(encoder\.self|decoder\.self|decoder\.cross)_attention$/;

// The settings of an address, with a default for what is left out or cannot be.
function chosenIn(settings, trace) {
  const whole = (text, most) => (/^\d+$/.test(text) ? Math.min(Number(text), most) : null);
  return {
    stage: settings.stage ?? DEFAULTS.stage,
    layer: whole(settings.layer, 1000) ?? 0,
    head: whole(settings.head, trace.config.heads - 1) ?? 0,
    step: whole(settings.step, trace.steps.length - 1) ?? largestAt(trace.steps.map((step) => step.entropy)),
    show: settings.show === "scores" ? "scores" : "weights",
    part: ATTENTION.test(settings.part) ? settings.part : DEFAULTS.part,
    cell: (settings.cell ?? "").split(" ").map(readCell).filter((cell) => cell.name),
  };
}

// The address after a change. A stage that is left closes its cell.
function changed(settings) {
  const texts = Object.fromEntries(Object.entries(settings).map(([name, value]) =>
    [name, value === DEFAULTS[name] ? "" : name === "cell" ? value.map(cellName).join(" ") : String(value)]));
  const closed = "stage" in settings && !("cell" in settings) ? { cell: "" } : {};
  return { ...address().settings, ...closed, ...texts };
}

// Fills `where` with the walk. `compute` gives the computation of a cell. Returns what shows a trace as the address says.
export function startWalk(where, compute) {
  const nav = element("nav", { "aria-label": "Stages" });
  const status = element("p", { class: "spoken", role: "status" });
  const body = element("div", { class: "card stage" });
  const aside = element("aside", { class: "card cell", "aria-label": "Computation of a cell", hidden: true });
  where.replaceChildren(nav, element("div", {}, status, body), aside);
  const href = (settings) => link(address().tab, changed(settings));
  const choose = (settings) => goTo(address().tab, changed(settings));
  let before = null; // what was drawn last

  aside.addEventListener("keydown", ({ key }) => { if (key === "Escape") choose({ cell: [] }); });

  function show(trace) {
    const chosen = chosenIn(address().settings, trace);
    const walk = walkOf(trace);
    const at = Math.max(0, walk.findIndex((stage) => stage.id === chosen.stage));
    const focused = document.activeElement?.dataset?.control;
    const open = (name, index) => choose({ cell: [{ name, index }] });
    where.classList.toggle("with-cell", chosen.cell.length > 0); // first: the room for the figures depends on it
    nav.replaceChildren(...stageList(walk, at, trace, chosen, href));
    nav.querySelector("[aria-current=step]").scrollIntoView({ block: "nearest", inline: "center" });
    drawStage(body, heading(walk, at, chosen, href), walk[at], trace, chosen, { choose, open: compute && open, href });
    const cellNow = chosen.cell.map(cellName).join(" ");
    if (cellNow !== before?.cell || trace !== before.trace) drawOpened(trace, chosen);
    restoreFocus(focused, cellNow);
    if (before && before.stage !== walk[at].id) status.textContent = `Stage ${at + 1} of ${walk.length}: ${[...placeOf(walk[at], chosen.layer), walk[at].name].join(", ")}`;
    before = { stage: walk[at].id, cell: cellNow, trace };
  }

  // The panel keeps the reader's place: it is focused when a cell opens, and the picture when it closes.
  function restoreFocus(focused, cellNow) {
    if (cellNow && cellNow !== before?.cell) return;
    const closed = before?.cell && !cellNow && `cells-${readCell(before.cell.split(" ")[0]).name}`;
    refocus(where, closed || focused);
  }

  async function drawOpened(trace, chosen) {
    aside.hidden = chosen.cell.length === 0;
    if (aside.hidden) return;
    const last = chosen.cell.at(-1);
    const asked = cellName(last);
    aside.setAttribute("aria-busy", "true");
    const computed = await compute(trace, last).catch((error) => ({ error: error.message }));
    if (cellName(chosenIn(address().settings, trace).cell.at(-1) ?? { name: "", index: [] }) !== asked) return; // another one was opened meanwhile
    aside.setAttribute("aria-busy", "false");
    drawCell(aside, computed, trace, chosen.cell, { href, reopen: (cell) => href({ cell: [...chosen.cell, cell] }) });
    aside.querySelector("h2").focus({ preventScroll: true });
  }

  return show;
}

// The name of the stage, where it stands, and the way on.
function heading(walk, at, chosen, href) {
  const stage = walk[at];
  const mover = (name, text, to) => (to ? element("a", { class: "plain", href: href({ stage: to.id }), "data-control": name }, text)
    : element("button", { type: "button", class: "plain", disabled: true }, text));
  return [
    element("p", { class: "place quiet" }, element("span", { class: "spoken" }, "You are here: "), ...placeOf(stage, chosen.layer).flatMap((text, index) =>
      [index ? " › " : "", text])),
    element("div", { class: "title" }, element("h2", {}, stage.name), element("div", { class: "steps" }, mover("back", "← Back", walk[at - 1]),
      element("span", { class: "quiet" }, `${at + 1} of ${walk.length}`), mover("next", "Next →", walk[at + 1]))),
  ];
}

// The map, small, with the reader's place; then the stages. Of the blocks of a layer only the one the reader is in is unfolded.
function stageList(walk, at, trace, chosen, href) {
  const current = walk[at];
  const blockOf = (stage) => stage.block && `${stage.section} ${stage.block}`;
  const items = [];
  walk.forEach((stage, index) => {
    const before = walk[index - 1];
    if (stage.section && stage.section !== before?.section) items.push(element("li", { class: "section", "aria-hidden": "true" }, stage.section));
    const unfolded = !stage.block || blockOf(stage) === blockOf(current);
    const begins = blockOf(stage) !== (before ? blockOf(before) : "");
    if (stage.block && begins && unfolded) items.push(element("li", { class: "block", "aria-hidden": "true" }, stage.block));
    if (!unfolded && !begins) return;
    items.push(element("li", { class: stage.block && unfolded ? "inner" : null }, element("a", { href: href({ stage: stage.id }), "data-stage": stage.id, "data-control": `stage-${stage.id}`,
      "aria-label": stage.block ? `${stage.section}, ${stage.block}${unfolded ? `: ${stage.name}` : ""}` : null, "aria-current": stage === current ? "step" : "false" }, unfolded ? stage.name : stage.block)));
  });
  const place = [...placeOf(current, chosen.layer), current.name].join(", ");
  return [
    current.id !== "map" && element("a", { class: "here-map", href: href({ stage: "map" }), "data-control": "here", "aria-label": `Map. You are here: ${place}` },
      drawMap(trace.config, { here: current.id })),
    element("ol", { class: "stages" }, ...items),
  ].filter(Boolean);
}
