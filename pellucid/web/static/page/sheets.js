// One's own sheet: begun from a template, opened from a file or an address, edited as text, saved and shared.

import { link as linkTo, restate } from "../address.js";
import { element } from "../dom.js";

// `open` gets { sheet: text } or { id: template } and rejects with what is wrong; `current` gives the text of the sheet.
export function sheetTools(templates, open, current) {
  const problem = element("p", { class: "error", role: "alert", hidden: true });
  const text = element("textarea", { rows: 14, spellcheck: "false", "aria-label": "Text of the sheet" });
  const link = element("input", { type: "text", readonly: true, hidden: true, "aria-label": "Address of the sheet" });
  const attempt = (asked) => open(asked).then(() => say(""), (error) => say(error.message));
  const say = (message) => {
    problem.hidden = !message;
    problem.textContent = message;
    text.setAttribute("aria-invalid", Boolean(message));
    if (message) editor.open = true;
  };
  const file = element("input", { type: "file", accept: ".toml", class: "spoken", "aria-label": "Open a sheet", onchange: () =>
    file.files[0]?.text().then((content) => {
      editor.hidden = false;
      text.value = content;
      attempt({ sheet: content });
      file.value = "";
    }) });
  const start = element("select", { "aria-label": "New sheet from a template", onchange: () => {
    if (start.value) attempt({ id: start.value });
    start.value = "";
  } }, element("option", { value: "" }, "New sheet …"), ...templates.map(({ id, title }) => element("option", { value: id }, title)));
  const button = (label, onclick) => element("button", { type: "button", class: "plain", onclick }, label);
  const editor = element("details", { hidden: true }, element("summary", {}, "Text of the sheet"),
    text, button("Check this text", () => attempt({ sheet: text.value })));
  const own = element("span", { hidden: true, class: "own" }, button("Save", () => save(current())), button("Share", async () => {
    link.value = await addressOf(current());
    link.hidden = false;
    link.select();
    navigator.clipboard?.writeText(link.value).catch(() => null); // the field has it too
  }), link);
  return {
    node: element("div", { class: "sheet" }, element("div", { class: "settings" }, start,
      element("label", { class: "plain" }, file, "Open a sheet"), own), problem, editor),
    // The text of one's own sheet, or null for an example of the project.
    show(sheet) {
      own.hidden = editor.hidden = sheet === null;
      link.hidden = true;
      if (sheet !== null) text.value = sheet;
      say("");
    },
  };
}

function save(sheet) {
  const address = URL.createObjectURL(new Blob([sheet], { type: "application/toml" }));
  const name = /^id = "([\w-]+)"/m.exec(sheet)?.[1] ?? "sheet";
  element("a", { href: address, download: `${name}.toml` }).click();
  URL.revokeObjectURL(address);
}

const through = (bytes, transform) => new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer();

// An address that holds the whole sheet, compressed: no server stores it.
async function addressOf(sheet) {
  const bytes = new Uint8Array(await through(new TextEncoder().encode(sheet), new CompressionStream("deflate-raw")));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const sheetLetters = letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.origin}${location.pathname}${linkTo("worked", { sheet: sheetLetters })}`;
}

// The sheet in the settings of the address, if there is one. It is taken once: the address then is that of the tab.
export async function sharedSheet({ sheet: letters }) {
  if (!letters) return null;
  restate("worked", {});
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    throw new Error("The address does not hold a sheet: it is cut off or changed.");
  }
}
