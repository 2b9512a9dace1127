// The offline page of how a model learned one sentence. Its moments stand in the same file as JSON.

import { address, goTo, restate } from "./address.js";
import { element } from "./dom.js";
import { embedded } from "./packed.js";
import { origin, startLearningView } from "./learning/learning.js";

const learning = await embedded();
const view = element("main", {});
document.body.append(
  element("header", { class: "document" }, element("p", { class: "quiet" }, `How the run ${learning.run} learned one sentence`), element("h1", {}, learning.trace.text), origin(learning)),
  view,
  element("footer", { class: "quiet" }, `Every number of one step: pellucid explain … --run ${learning.run} --step N. Made by Pellucid.`));

if (address().tab !== "learning") restate("learning", {});
const show = startLearningView(view, {
  scrub: (step) => { restate("learning", { ...address().settings, at: step }); draw(); },
  choose: (changes) => goTo("learning", { ...address().settings, ...changes }),
});
const draw = () => show(learning, { ...address().settings, stage: "" });

addEventListener("hashchange", draw);
draw();
