// Requests to the server this page came from.

const KEY = "pellucid.api_key";
let key = sessionStorage.getItem(KEY) || "";

export function useKey(given) {
  key = given;
  sessionStorage.setItem(KEY, given);
}

export const usedKey = () => key;

export const get = (path) => answer(path, {}).then((response) => response.json());

export const post = (path, body, signal) => send(path, body, signal).then((response) => response.json());

// The pieces of a translation, as they come.
export async function* pieces(body, signal) {
  const response = await send("/api/stream", body, signal);
  let rest = "";
  try {
    for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + bytes).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
        const content = JSON.parse(data);
        if (name === "error") throw new Error(content.error);
        if (name === "piece") yield content.text;
        if (name === "end") return;
      }
    }
  } catch (fault) {
    throw fault instanceof TypeError ? unreachable() : fault;
  }
  throw new Error("The server ended before the translation did.");
}

// Whether a request was given up by the page itself, because something newer was wanted.
export const givenUp = (fault) => fault.name === "AbortError";

function send(path, body, signal) {
  const content = JSON.stringify(key ? { ...body, api_key: key } : body);
  return answer(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: content, signal });
}

async function answer(path, options) {
  const response = await fetch(path, options).catch((fault) => {
    throw givenUp(fault) ? fault : unreachable();
  });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Error(sentence(told.error || `The server answered with ${response.status}.`));
}

const unreachable = () => new Error("The server does not answer. Is it still running?");

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!)]$/.test(text) ? "" : "."}`;
