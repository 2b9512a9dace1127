// What the tabs of the page share: the model, the text with its direction, the line of errors, lists of buttons.

import { element, place } from "../dom.js";

export const session = { model: null, text: "", source: "", target: "" };

// The part of a request that says what is translated.
export const request = () => ({ text: session.text, ...direction() });
export const direction = () => Object.fromEntries(["source", "target"].filter((side) => session[side]).map((side) => [side, session[side]]));

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
