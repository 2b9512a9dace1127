// The page of the service: it asks for the model, then starts its three tabs.

import { get, storeKey, storedKey } from "./api.js";
import { place } from "../dom.js";
import { startInside } from "./inside.js";
import { report, session } from "./session.js";
import { startTranslate } from "./translate.js";
import { startWorked } from "./worked.js";

const tabs = [...document.querySelectorAll("[role=tab]")];
const nameOf = (tab) => tab.getAttribute("aria-controls");

// `opened` has for each tab what happens when it is shown.
function startTabs(opened) {
  const show = () => {
    const asked = location.hash.slice(2); // with a slash before it, the browser does not scroll to an element of that name
    const name = asked in opened ? asked : "translate";
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", nameOf(tab) === name);
      tab.tabIndex = nameOf(tab) === name ? 0 : -1;
      place(nameOf(tab)).hidden = nameOf(tab) !== name;
    }
    report(null);
    opened[name]();
  };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => { location.hash = `/${nameOf(tab)}`; });
    tab.addEventListener("keydown", ({ key }) => {
      const next = tabs.at((at + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0)) % tabs.length);
      if (next === tab) return;
      next.focus();
      next.click();
    });
  });
  addEventListener("hashchange", show);
  show();
}

function askForKey() {
  const input = place("key").querySelector("input");
  place("key").hidden = false;
  input.value = storedKey();
  input.addEventListener("input", () => storeKey(input.value));
  place("key").addEventListener("submit", (event) => event.preventDefault());
}

function start(model) {
  const { config, name, key_required: keyRequired } = session.model = model;
  const called = name === "model" ? "" : `${name}: `; // the name that every model directory of a run has
  place("model").textContent = `${called}${config.encoder_layers} + ${config.decoder_layers} layers, ${config.heads} heads, d ${config.d_model}`;
  if (keyRequired) askForKey();
  startTabs({ translate: startTranslate(), inside: startInside(), worked: startWorked() });
}

get("/api/model").then(start, report);
