// The operations page: signs in, and shows the view that the address names behind its #.

import {bans, roles, users} from "./access.js";
import {credentials, get, mayDo, whenSignedOut} from "./api.js";
import {blocks} from "./blocks.js";
import {clients} from "./clients.js";
import {cluster} from "./cluster.js";
import {doctor} from "./doctor.js";
import {at, complain, make, put, say} from "./dom.js";
import {explain} from "./explain.js";
import {askForCredentials, signIn, whenCredentialsAreGiven} from "./login.js";
import {messages} from "./messages.js";
import {listeners, loggers, settings} from "./node.js";
import {operators} from "./operators.js";
import {overview} from "./overview.js";
import {retained} from "./retained.js";
import {sessions} from "./sessions.js";
import {tenants} from "./tenants.js";
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
  tenants: ["Tenants", tenants],
  blocks: ["Blocks", blocks],
  cluster: ["Cluster", cluster],
  doctor: ["Doctor", doctor],
  listeners: ["Listeners", listeners],
  settings: ["Settings", settings],
  loggers: ["Log levels", loggers],
  operators: ["Operators", operators],
};

// Views that are there only with a setting.
const ACCESS_VIEWS = ["users", "roles", "bans", "tenants"];
const ACCESS_SETTING = "dunlin.auth.users.enabled";
const OPERATORS_SETTING = "dunlin.admin.tls.port";
const NO_PORT = "-1";

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

// Of a setting; undefined while a node starts, which has no users yet either.
async function valueOf(setting) {
  try {
    const {items} = await get("/settings", {prefix: setting, limit: 1});
    return items.find(row => row.key === setting)?.value;
  } catch (error) {
    if (error.status === undefined || error.status === 401) throw error;
    return undefined;
  }
}

const showLink = (view, there) => {
  at("views").querySelector(`[href="#/${view}"]`).parentElement.hidden = !there;
};

async function begin() {
  try {
    for (const view of [...ACCESS_VIEWS, "operators"]) showLink(view, false); // until it is known what the broker has, and who asks
    role = (await signIn()).role;
    access = await valueOf(ACCESS_SETTING) === "true";
    for (const view of ACCESS_VIEWS) showLink(view, access);
    showLink("operators", mayDo(role, "admin") && ![undefined, NO_PORT].includes(await valueOf(OPERATORS_SETTING)));
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
