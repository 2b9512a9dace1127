// The page of the service: it asks for the model, then starts its tabs.

import { address, goTo, restate } from "../address.js";
import { get, storeKey, storedKey } from "./api.js";
import { place } from "../dom.js";
import { startInside } from "./inside.js";
import { startLabs } from "./labs.js";
import { startLearning } from "./learning.js";
import { adopt, report, session, told } from "./session.js";
import { startTranslate } from "./translate.js";
import { startWorked } from "./worked.js";

const tabs = [...document.querySelectorAll("[role=tab]")];
const nameOf = (tab) => tab.getAttribute("aria-controls");

const TRANSLATING = ["translate", "inside"]; // the tabs that share one text

// `opened` has for each tab what happens when it is shown, with the settings of the address.
function startTabs(opened) {
  const left = {}; // the settings of each tab when it was left
  let before = null;
  const show = () => {
    const { tab: asked, settings } = address();
    const name = asked in opened ? asked : "translate";
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", nameOf(tab) === name);
      tab.tabIndex = nameOf(tab) === name ? 0 : -1;
      place(nameOf(tab)).hidden = nameOf(tab) !== name;
    }
    if (name !== before) report(null);
    before = name;
    if (TRANSLATING.includes(name)) {
      adopt(settings);
      restate(name, { ...settings, ...told() }); // Back must find what was shown, even where the address did not say it
    }
    opened[name](settings);
  };
  const open = (name) => {
    left[before] = address().settings;
    const kept = left[name] ?? {};
    const same = !TRANSLATING.includes(name) || (kept.text ?? "") === told().text;
    goTo(name, same ? { ...kept } : { stage: kept.stage, layer: kept.layer, head: kept.head, ...told() });
  };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => open(nameOf(tab)));
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
  startTabs({ translate: startTranslate(), inside: startInside(), learning: startLearning(), worked: startWorked(), labs: startLabs() });
}

get("/api/model").then(start, report);
