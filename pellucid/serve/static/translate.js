// Translate: the text as it is typed, its translation as it comes, then what else it could have been.

import { givenUp, pieces, post } from "./api.js";
import { showAlignment } from "./alignment.js";
import { directions, way } from "./directions.js";
import { element, number } from "./heatmap.js";
import { startStrategies } from "./strategies.js";

const PAUSE = 300; // milliseconds without a key until the text is translated
const MOST_ALIGNED = 400; // characters: all of a long text at once takes long to see through
const grouped = (count) => count.toLocaleString("en");
const place = (id) => document.getElementById(id);

export function startTranslate(session) {
  const { limits } = session.model;
  const compare = startStrategies(session);
  const refresh = directions(place("translate-directions"), session, (turned) => {
    if (turned) place("text").value = place("output").textContent;
    wait(0);
  });
  let timer = 0;
  let work = new AbortController();
  let looking = new AbortController(); // at one of the alternatives

  function wait(pause) {
    clearTimeout(timer);
    work.abort();
    timer = setTimeout(translate, pause);
    const length = [...place("text").value].length;
    const over = limits.char_limit >= 0 && length > limits.char_limit;
    place("count").textContent = length ? `${grouped(length)}${limits.char_limit >= 0 ? ` of ${grouped(limits.char_limit)}` : ""} characters` : "";
    place("count").classList.toggle("warn", over);
  }

  function clear() {
    place("output").replaceChildren();
    place("output").setAttribute("aria-busy", "false");
    place("how").textContent = "";
    for (const id of ["copy", "alternatives-card", "alignment-card", "strategies-card"]) place(id).hidden = true;
  }

  async function translate() {
    session.text = place("text").value;
    session.tell(null);
    if (!session.text.trim()) return clear();
    work = new AbortController();
    place("output").setAttribute("aria-busy", "true");
    try {
      await stream(work.signal);
      await search(work.signal);
    } catch (fault) {
      if (givenUp(fault)) return;
      place("output").setAttribute("aria-busy", "false");
      place("how").textContent = "";
      session.tell(fault);
    }
  }

  async function stream(signal) {
    const asked = { text: session.text, ...way(session) };
    place("how").textContent = "as it comes, the likeliest token first";
    place("output").classList.add("draft");
    let said = "";
    for await (const piece of pieces(asked, signal)) {
      said += piece;
      place("output").textContent = said;
    }
  }

  async function search(signal) {
    const beam = limits.beam_limit < 0 ? 5 : Math.max(1, Math.min(5, limits.beam_limit));
    const best = Math.min(4, beam, limits.alternatives_limit < 0 ? 4 : limits.alternatives_limit + 1);
    const found = await post("/api/translate", { text: session.text, ...way(session), beam, n_best: best }, signal);
    place("output").classList.remove("draft");
    place("output").setAttribute("aria-busy", "false");
    if (found.target) place("output").lang = found.target;
    place("copy").hidden = !navigator.clipboard;
    place("strategies-card").hidden = false;
    compare();
    place("output").textContent = found.text;
    offer([found, ...found.alternatives], beam, found.notes);
    const before = looking;
    await settled(signal);
    if (looking === before) await choose(found); // nobody was faster and chose another one
  }

  // To see through a translation is work: it is not begun for one that the next key makes another.
  function settled(signal) {
    return new Promise((resolve, reject) => {
      setTimeout(() => (signal.aborted ? reject(signal.reason) : resolve()), 2 * PAUSE);
    });
  }

  function offer(translations, beam, notes) {
    const told = translations[0].score === null ? "" : `, score ${number(translations[0].score)}`;
    place("how").textContent = [`beam of ${beam}${told}`, ...notes].join(" · ");
    place("alternatives-card").hidden = translations.length < 2;
    place("alternatives").replaceChildren(...translations.map((translation, at) => element("li", {},
      element("button", { type: "button", "aria-pressed": at === 0, onclick: (event) => {
        for (const button of place("alternatives").querySelectorAll("button")) button.setAttribute("aria-pressed", button === event.currentTarget);
        choose(translation).catch((fault) => givenUp(fault) || session.tell(fault));
      } }, element("span", { dir: "auto" }, translation.text), element("small", {}, translation.score === null ? "" : number(translation.score))))));
  }

  // A translation among the alternatives: shown, and seen through for its alignment.
  async function choose(translation) {
    looking.abort();
    looking = new AbortController();
    place("output").textContent = translation.text;
    place("alignment-card").hidden = session.text.length > MOST_ALIGNED;
    if (place("alignment-card").hidden) return;
    const asked = { text: session.text, ...way(session), ...(translation.text.trim() && { target_text: translation.text }) };
    const trace = await post("/api/explain", asked, AbortSignal.any([work.signal, looking.signal]));
    showAlignment(place("alignment"), trace);
  }

  place("text").addEventListener("input", () => wait(PAUSE));
  place("copy").addEventListener("click", () => navigator.clipboard.writeText(place("output").textContent));
  clear();
  return () => {
    refresh();
    if (place("text").value !== session.text) {
      place("text").value = session.text;
      wait(0);
    }
  };
}
