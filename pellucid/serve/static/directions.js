// From which language into which. A model without codes, or with one direction, has nothing to choose.

import { element } from "./heatmap.js";

// Fills `where` with the choice; `changed` is called after the session was. Returns what brings it up to date.
export function directions(where, session, changed) {
  const { languages } = session.model;
  const sources = languages.filter((language) => language.targets.length);
  const name = (code) => languages.find((language) => language.code === code).name;
  if (sources.length < 2 && (sources[0]?.targets.length ?? 0) < 2) {
    if (sources[0] && sources[0].code !== "source") where.append(`${sources[0].name} → ${name(sources[0].targets[0])}`);
    return () => {};
  }
  const option = (code, text) => element("option", { value: code }, text);
  const source = element("select", { "aria-label": "From" }, option("", "Detect language"),
    ...sources.map((language) => option(language.code, language.name)));
  const target = element("select", { "aria-label": "Into" });
  const swap = element("button", { type: "button", class: "plain", "aria-label": "Swap languages", title: "Swap languages" }, "⇄");

  function offerTargets() {
    const from = sources.filter((language) => !session.source || language.code === session.source);
    const codes = [...new Set(from.flatMap((language) => language.targets))];
    const any = session.source ? [] : [option("", "the other language")];
    if (!codes.includes(session.target)) session.target = session.source ? codes[0] : "";
    target.replaceChildren(...any, ...codes.map((code) => option(code, name(code))));
    source.value = session.source;
    target.value = session.target;
    swap.disabled = !canTurn();
  }

  const canTurn = () => session.source && languages.find((each) => each.code === session.target)?.targets.includes(session.source);
  source.addEventListener("change", () => { session.source = source.value; offerTargets(); changed(); });
  target.addEventListener("change", () => { session.target = target.value; offerTargets(); changed(); });
  swap.addEventListener("click", () => {
    [session.source, session.target] = [session.target, session.source];
    offerTargets();
    changed(true);
  });
  where.append(source, swap, target);
  offerTargets();
  return offerTargets;
}

// The part of a request that says the way.
export function way({ source, target }) {
  return { ...(source && { source }), ...(target && { target }) };
}
