// Calls the admin API of the node that the page came from, with the token or the password of this tab.

const PREFIX = "/api/v1";
const CREDENTIALS = "dunlin-credentials";
const ROLES = ["viewer", "operator", "admin"];
const ROWS_OF_PAGE = 1000;
const ROWS_MAX = 10000;
const AGAIN_MILLIS = [1000, 2000, 5000];

// The node has refused; the message is its sentence.
export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// In UTF-8, as the node reads it; btoa takes bytes only.
const basic = (name, password) => btoa(String.fromCharCode(...new TextEncoder().encode(name + ":" + password)));

// What is sent as Authorization.
export const credentials = {
  get: () => sessionStorage.getItem(CREDENTIALS) ?? "",
  setToken: value => sessionStorage.setItem(CREDENTIALS, "Bearer " + value),
  setPassword: (name, password) => sessionStorage.setItem(CREDENTIALS, "Basic " + basic(name, password)),
  forget: () => sessionStorage.removeItem(CREDENTIALS),
};

// A part of a path. These two would lead elsewhere in the path, however they are escaped.
export function segment(text) {
  if (text === "." || text === "..") throw new Refusal(400, "An address cannot name what is called " + text + ". The MXBeans can.");
  return encodeURIComponent(text);
}

export const mayDo = (role, needed) => ROLES.indexOf(role) >= ROLES.indexOf(needed);

// Called when the credentials are not valid any more.
let onSignedOut = () => {};
export function whenSignedOut(then) {
  onSignedOut = then;
}

async function send(method, path, {query = {}, body, signal, accept = "application/json"} = {}) {
  const address = new URL(PREFIX + path, location.origin);
  for (const [name, value] of Object.entries(query)) if (value !== "" && value !== undefined) address.searchParams.set(name, value);
  const headers = {Accept: accept, Authorization: credentials.get()};
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(address, {method, headers, signal, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The node does not answer.");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({detail: "The answer has the status " + answer.status + "."}));
  if (answer.status === 401) onSignedOut(problem.detail);
  throw new Refusal(answer.status, problem.detail);
}

export async function call(method, path, options) {
  return (await send(method, path, options)).json();
}

export const get = (path, query, signal) => call("GET", path, {query, signal});

// All rows of a listing, up to a bound that the answer tells.
export async function all(path, query, signal) {
  const rows = [];
  const unanswered = new Set();
  let cursor = "";
  do {
    const page = await get(path, {...query, limit: ROWS_OF_PAGE, cursor}, signal);
    rows.push(...page.items);
    for (const each of page.unanswered) unanswered.add(each);
    cursor = page.next;
  } while (cursor && rows.length < ROWS_MAX);
  return {rows, more: cursor !== "", unanswered: [...unanswered]};
}

// The events of a stream. EventSource cannot send a token, so the stream is read by hand.
async function follow(path, query, onEvent, signal) {
  const answer = await send("GET", path, {query, signal, accept: "text/event-stream"});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read().catch(() => {
      throw new Refusal(0, "The node has broken off the stream.");
    });
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) onEvent(JSON.parse(line.slice(6)));
  }
}

export function pause(millis, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, millis);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, {once: true});
  });
}

// Follows a stream, again and again, until the signal aborts it, the node refuses for good, or hasEnded says that there are no further events.
// onTrouble gets the reason, and null when events come again.
export async function keepFollowing(path, query, onEvent, onTrouble, signal, hasEnded = async () => false) {
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      await follow(path, query, event => {
        if (tries > 0) onTrouble(null);
        tries = 0;
        onEvent(event);
      }, signal);
      if (await hasEnded()) return;
      throw new Refusal(0, "The node has ended the stream.");
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      onTrouble(error);
      if (error.status >= 400 && error.status < 500) return;
    }
    await pause(AGAIN_MILLIS[Math.min(tries, AGAIN_MILLIS.length - 1)], signal);
  }
}
