// The tab that translates while one types: first greedily, token by token, then by beam search, with alternatives and alignment.

import { address, link, restate } from "../address.js";
import { post, streamTranslation } from "./api.js";
import { directions } from "./directions.js";
import { element, number, place } from "../dom.js";
import { aborted, report, request, sample, session, told } from "./session.js";
import { startStrategies } from "./strategies.js";
import { alignedWords } from "../trace/alignment.js";
import { drawMap } from "../trace/map.js";

const PAUSE = 300; // milliseconds without a key until the text is translated
const MOST_ALIGNED = 400; // characters: the trace of a long text takes long
const grouped = (count) => count.toLocaleString("en");
let timer = 0;
let translating = new AbortController();
let explaining = new AbortController(); // one of the alternatives
let compare = null; // runs the decoding strategies
let refresh = null; // brings the choice of languages up to date
let asked = ""; // the request whose translation is shown, or on its way

export function startTranslate() {
  compare = startStrategies();
  refresh = directions(place("translate-directions"), (swapped) => {
    if (swapped) place("text").value = place("output").textContent;
    schedule(0);
  });
  place("text").addEventListener("input", () => schedule(PAUSE));
  place("text").addEventListener("focus", () => { if (place("text").value === sample()) place("text").select(); }); // one types over it
  place("copy").addEventListener("click", () => navigator.clipboard.writeText(place("output").textContent));
  clear();
  return () => {
    if (JSON.stringify(request()) === asked) return;
    refresh();
    place("text").value = session.text;
    schedule(0);
  };
}

function schedule(pause) {
  clearTimeout(timer);
  translating.abort();
  timer = setTimeout(translate, pause);
  const { char_limit: most } = session.model.limits;
  const length = [...place("text").value].length;
  place("count").textContent = length ? `${grouped(length)}${most >= 0 ? ` of ${grouped(most)}` : ""} characters` : "";
  place("count").classList.toggle("warn", most >= 0 && length > most);
  place("output").classList.add("draft"); // what stands there is of another text
}

function clear() {
  place("output").replaceChildren();
  finish("");
  for (const id of ["copy", "alternatives-card", "alignment-card", "strategies-card"]) place(id).hidden = true;
  showMap(null);
}

// The way of the text through the model; every part opens its stage on the other tab.
function showMap(trace) {
  place("map").replaceChildren(drawMap(session.model.config, { trace, href: (stage) => link("inside", { ...told(), stage: stage === "map" ? "" : stage }) }));
}

function finish(how) {
  place("output").setAttribute("aria-busy", "false");
  place("how").textContent = how;
}

async function translate() {
  session.text = place("text").value;
  asked = JSON.stringify(request());
  if (["", "translate"].includes(address().tab)) restate("translate", told());
  report(null);
  if (!session.text.trim()) return clear();
  translating = new AbortController();
  place("output").setAttribute("aria-busy", "true");
  try {
    await stream(translating.signal);
    await search(translating.signal);
  } catch (error) {
    if (!aborted(error)) clear(); // what stood there was the translation of another text
    report(error);
  }
}

async function stream(signal) {
  place("how").textContent = "greedy, token by token";
  place("output").classList.add("draft");
  let text = "";
  for await (const piece of streamTranslation(request(), signal)) {
    text += piece;
    place("output").textContent = text;
  }
}

async function search(signal) {
  const { beam_limit: widest, alternatives_limit: most } = session.model.limits;
  const beam = widest < 0 ? 5 : Math.max(1, Math.min(5, widest));
  const found = await post("/api/translate", { ...request(), beam, n_best: Math.min(4, beam, most < 0 ? 4 : most + 1) }, signal);
  place("output").classList.remove("draft");
  place("output").textContent = found.text;
  if (found.target) place("output").lang = found.target;
  refresh(found.source);
  place("copy").hidden = !navigator.clipboard;
  place("strategies-card").hidden = false;
  const { engine } = session.model;
  finish([`beam of ${beam}${found.score === null ? "" : `, score ${number(found.score)} by ${engine}`}`, ...found.notes].join(" · "));
  compare();
  offer([found, ...found.alternatives]);
  const before = explaining;
  await settled(signal);
  if (explaining === before) await choose(found); // the reader has not chosen another one
}

// A trace is work: it is not begun for a translation that the next key replaces.
const settled = (signal) => new Promise((resolve, reject) => {
  setTimeout(() => (signal.aborted ? reject(signal.reason) : resolve()), 2 * PAUSE);
});

function offer(translations) {
  const buttons = translations.map((translation, at) => element("button", { type: "button", "aria-pressed": at === 0, onclick: () => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", index === at));
    choose(translation).catch(report);
  } }, element("span", { dir: "auto" }, translation.text), element("small", {}, translation.score === null ? "" : number(translation.score))));
  place("alternatives-card").hidden = buttons.length < 2;
  place("alternatives").replaceChildren(...buttons.map((button) => element("li", {}, button)));
}

// Shows one of the alternatives, and its alignment.
async function choose(translation) {
  explaining.abort();
  explaining = new AbortController();
  place("output").textContent = translation.text;
  place("alignment-card").hidden = session.text.length > MOST_ALIGNED;
  if (place("alignment-card").hidden) return;
  const body = { ...request(), ...(translation.text.trim() && { target_text: translation.text }) };
  const trace = await post("/api/explain", body, AbortSignal.any([translating.signal, explaining.signal]));
  place("alignment").replaceChildren(...alignedWords(trace), ...trace.notes.map((note) => element("p", { class: "quiet" }, note)),
    element("p", { class: "quiet scores" }, `Score ${trace.scores.filter((each) => each.vocabulary === trace.scores[0].vocabulary).map((each) =>
      `${number(each.score)} by ${each.engine} in ${each.compute_type}`).join(", ")}, among ${trace.given ? "all " : ""}${grouped(trace.scores[0].vocabulary)} tokens. ` +
      "Among those of one language alone, as a search may choose, a score is higher."));
  showMap(trace);
}
