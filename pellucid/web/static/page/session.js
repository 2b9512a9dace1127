// What the tabs of the page share: the model, the text with its direction, the line of errors, lists of buttons.

import { element, place } from "../dom.js";

export const session = { model: null, text: "", source: "", target: "" };

// The part of a request that says what is translated.
export const request = () => ({ text: session.text, ...direction() });
export const direction = () => Object.fromEntries(["source", "target"].filter((side) => session[side]).map((side) => [side, session[side]]));

const MOST_LINKED = 2000; // characters: a longer text is no part of the address

// The same as the settings of an address.
export const told = () => ({ ...direction(), text: session.text.length > MOST_LINKED ? "" : session.text });

export const oneLine = (text) => text.replace(/\s+/g, " ");

// Takes over what an address says. Where it has no text, the text stays what it was; nobody meets an empty page.
export function adopt({ text, source, target }) {
  if (text && oneLine(text) !== oneLine(session.text)) session.text = text; // else it keeps its lines
  if (text || source || target) Object.assign(session, { source: source ?? "", target: target ?? "" });
  if (!session.text.trim()) session.text = sample();
}

const SAMPLES = {
  en: "The old bridge was built before the war.", de: "Die alte Brücke wurde vor dem Krieg gebaut.", fr: "Le vieux pont a été construit avant la guerre.",
  es: "El viejo puente fue construido antes de la guerra.", it: "Il vecchio ponte fu costruito prima della guerra.", pt: "A velha ponte foi construída antes da guerra.",
  nl: "De oude brug werd voor de oorlog gebouwd.", pl: "Stary most zbudowano przed wojną.", ru: "Старый мост построили до войны.",
};

// A sentence in a language that the model translates from.
export function sample() {
  const sources = session.model.languages.filter((language) => language.targets.length).map((language) => language.code);
  return SAMPLES[session.source || sources.find((code) => code in SAMPLES)] ?? SAMPLES.en;
}

// Shows an error until something succeeds. A request that the page itself gave up for a newer one is not an error.
export function report(error) {
  if (aborted(error)) return;
  place("error").hidden = !error;
  place("error").textContent = error?.message ?? "";
}

export const aborted = (error) => error?.name === "AbortError";

// Buttons of which one is the current one. Returns the function that makes it so, and brings it into sight.
export function buttonList(list, labels, choose, kind) {
  const buttons = labels.map((label, at) => element("button", { type: "button", onclick: () => choose(at) }, ...label));
  list.replaceChildren(...buttons.map((button) => element("li", {}, button)));
  return (current) => buttons.forEach((button, at) => {
    if (at !== current) return button.removeAttribute("aria-current");
    button.setAttribute("aria-current", kind);
    return button.scrollIntoView({ block: "nearest" });
  });
}
