// The operations page: signs in, and shows the view that the address names behind its #.

import {bans, roles, users} from "./access.js";
import {credentials, get, whenSignedOut} from "./api.js";
import {blocks} from "./blocks.js";
import {clients} from "./clients.js";
import {cluster} from "./cluster.js";
import {doctor} from "./doctor.js";
import {at, complain, make, put, say} from "./dom.js";
import {explain} from "./explain.js";
import {askForCredentials, signIn, whenCredentialsAreGiven} from "./login.js";
import {messages} from "./messages.js";
import {listeners, loggers, settings} from "./node.js";
import {overview} from "./overview.js";
import {retained} from "./retained.js";
import {sessions} from "./sessions.js";
import {top} from "./top.js";
import {topics} from "./topics.js";
import {traces} from "./traces.js";

const VIEWS = {
  overview: ["Overview", overview],
  clients: ["Clients", clients],
  sessions: ["Sessions", sessions],
  topics: ["Topics and groups", topics],
  retained: ["Retained messages", retained],
  messages: ["Messages", messages],
  explain: ["Explain", explain],
  traces: ["Traces", traces],
  top: ["Top", top],
  users: ["Users", users],
  roles: ["Roles", roles],
  bans: ["Bans", bans],
  blocks: ["Blocks", blocks],
  cluster: ["Cluster", cluster],
  doctor: ["Doctor", doctor],
  listeners: ["Listeners", listeners],
  settings: ["Settings", settings],
  loggers: ["Log levels", loggers],
};

// Only where the setting is there.
const ACCESS_VIEWS = ["users", "roles", "bans"];
const ACCESS_SETTING = "dunlin.auth.users.enabled";

let role = "";
let access = false;
let shown = new AbortController();

// What a view has begun ends with its signal.
function show() {
  const [name, ...path] = location.hash.replace(/^#\/?/, "").split("/");
  const [title, view] = Object.hasOwn(VIEWS, name) ? VIEWS[name] : VIEWS.overview;
  shown.abort();
  shown = new AbortController();
  say("");
  put(at("title"), title);
  document.title = title + " – Dunlin";
  for (const link of at("views").querySelectorAll("a")) {
    if (link.dataset.title === title) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  at("view").replaceChildren();
  try {
    view({root: at("view"), path: path.map(decodeURIComponent), role, access, signal: shown.signal});
  } catch (error) {
    if (error instanceof URIError) complain(new Error("The address has an escape that stands for no character."));
    else if (error.status !== undefined) complain(error);
    else throw error;
  }
}

// A node that starts has no answer yet, and no users either.
async function hasAccess() {
  try {
    const {items} = await get("/settings", {prefix: ACCESS_SETTING, limit: 1});
    return items.some(row => row.key === ACCESS_SETTING && row.value === "true");
  } catch (error) {
    if (error.status === undefined || error.status === 401) throw error;
    return false;
  }
}

async function begin() {
  try {
    role = (await signIn()).role;
    access = await hasAccess();
    for (const name of ACCESS_VIEWS) at("views").querySelector(`[href="#/${name}"]`).parentElement.hidden = !access;
    show();
    at("title").focus();
  } catch (error) {
    if (error.status === undefined) throw error;
    if (error.status !== 401) askForCredentials(error.message);
  }
}

function signOut(reason) {
  shown.abort();
  at("view").replaceChildren();
  askForCredentials(reason);
}

for (const [name, [title]] of Object.entries(VIEWS)) {
  at("views").append(make("li", {}, make("a", {href: "#/" + name, "data-title": title}, title)));
}
whenSignedOut(signOut);
whenCredentialsAreGiven(begin);
at("sign-out").addEventListener("click", () => signOut(""));
// The link to the content would change the part of the address that names the view.
at("skip").addEventListener("click", event => {
  event.preventDefault();
  at("content").focus();
});
addEventListener("hashchange", () => {
  if (!credentials.get()) return;
  show();
  at("title").focus();
});
if (credentials.get()) begin();
else askForCredentials("");
