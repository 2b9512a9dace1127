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
  for await (const [name, content] of events(response.body)) {
    if (name === "error") throw new Error(sentence(content.error));
    if (name === "piece") yield content.text;
    if (name === "end") return;
  }
  throw new Error("The server ended before the translation did.");
}

// Server-sent events: the name and the data of each.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((fault) => { throw givenUp(fault) ? fault : unreachable(); });
    if (done) return;
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      yield [name, JSON.parse(data)];
    }
  }
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
