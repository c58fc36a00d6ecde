// What keeps the broker busy: clients and sessions that have most of something, what waits in this node, and a sample of what is published.

import {get, mayDo} from "./api.js";
import {tenantField, viewOf} from "./clients.js";
import {button, choice, complain, form, hint, labelled, make, notice, section, table} from "./dom.js";
import {bytes, number, shortened, visible} from "./text.js";

const ROWS = 20;

const OF_CLIENTS = {
  queued: "messages that wait for it", "queued-bytes": "bytes that wait for it", "in-flight": "messages in flight to it", receiving: "publishes that are not answered",
  "socket-bytes": "bytes for its socket", subscriptions: "subscriptions", oldest: "age of its oldest message", "published-rate": "publishes a second",
  "sent-rate": "messages sent to it a second",
};
const OF_SESSIONS = {messages: "messages in the inbox", bytes: "bytes in the inbox", subscriptions: "subscriptions", oldest: "age of the first message in the inbox"};
const OF_LANES = {
  rate: "publishes a second", oldest: "age of the oldest publish that is not acknowledged", messages: "messages on their way", bytes: "bytes on their way", held: "connections that are held back",
};
const SAMPLED = {topic: "topics", client: "clients"};

const named = (view, row) => make("a", {href: viewOf(view, row.clientId, row.tenant)}, make("bdi", {}, shortened(row.clientId)));

// A ranking by one figure, which is chosen here.
function ranking({title, id, path, figures, caption, columns, signal}) {
  const by = choice(figures, {id});
  const lost = notice();
  const rows = table(caption, columns);
  let asked = 0;

  async function load() {
    const mine = ++asked;
    const answer = await get(path, {by: by.value, limit: ROWS}, signal);
    if (mine !== asked) return; // another figure was chosen since
    rows.show(answer.items);
    lost.show(answer.unanswered.length ? "Rows are missing: " + answer.unanswered.join("; ") + "." : "");
  }

  const reload = () => load().catch(complain);
  by.addEventListener("change", reload);
  return {element: section(title, make("div", {class: "row"}, labelled("Compared by", by)), lost.element, rows.element), reload};
}

function queues(signal) {
  const rows = table("What waits in this node", [
    {title: "queue", value: row => make("code", {}, row.name)},
    {title: "waiting", numeric: true, value: row => number(row.waiting)},
    {title: "bytes", numeric: true, value: row => row.bytes < 0 ? "–" : bytes(row.bytes)},
    {title: "oldest", numeric: true, value: row => row.oldestMillis < 0 ? "–" : number(row.oldestMillis) + " ms"},
  ]);
  const load = async () => rows.show((await get("/queues", {limit: 1000}, signal)).items.toSorted((one, other) => other.waiting - one.waiting));
  return {element: section("Queues", make("div", {id: "queues"}, rows.element)), reload: () => load().catch(complain)};
}

function sample(signal) {
  const by = choice(SAMPLED, {id: "sampled-by"});
  const tenants = tenantField();
  const start = make("button", {id: "sample"}, "Sample for a second");
  const none = make("p", {id: "sampled", role: "status"});
  const rows = table("What was published most to this node in that second", [
    {title: "topic or client", value: row => make("bdi", {}, shortened(row.name))},
    {title: "a second", numeric: true, value: row => number(row.perSecond)},
    {title: "share", numeric: true, value: row => number(row.sharePercent) + " %"},
    {title: "in the sample", numeric: true, value: row => number(row.sampled)},
    {title: "payload", numeric: true, value: row => bytes(row.payloadBytes)},
  ]);
  rows.element.hidden = true;

  async function take() {
    start.disabled = true;
    none.textContent = "It listens.";
    try {
      const {items} = await get("/top/messages", {by: by.value, tenant: tenants.input.value, limit: ROWS}, signal);
      rows.show(items);
      rows.element.hidden = items.length === 0;
      none.textContent = items.length === 0 ? "Nothing was published in that second." : "Sampled by " + SAMPLED[by.value] + " of the tenant " + visible(tenants.input.value) + ".";
    } catch (error) {
      none.textContent = "";
      throw error;
    } finally {
      start.disabled = false;
    }
  }

  return section("Messages", form(() => take().catch(complain), labelled("By", by), tenants.label, start), none, rows.element);
}

export function top({root, role, signal}) {
  const clients = ranking({
    title: "Clients", id: "clients-by", path: "/top/clients", figures: OF_CLIENTS, caption: "Clients of all nodes and tenants that have most of it", signal,
    columns: [
      {title: "client identifier", value: row => named("clients", row)},
      {title: "waiting", numeric: true, value: row => number(row.queued) + ", " + bytes(row.queuedBytes)},
      {title: "in flight", numeric: true, value: row => number(row.inFlight)},
      {title: "not answered", numeric: true, value: row => number(row.receiving)},
      {title: "for the socket", numeric: true, value: row => bytes(row.socketBytes)},
      {title: "subscriptions", numeric: true, value: row => number(row.subscriptions)},
      {title: "oldest", numeric: true, value: row => row.oldestMillis ? number(row.oldestMillis) + " ms" : "–"},
      {title: "a second", numeric: true, value: row => row.perSecond < 0 ? "–" : number(row.perSecond)},
    ],
  });
  const sessions = ranking({
    title: "Sessions", id: "sessions-by", path: "/top/sessions", figures: OF_SESSIONS, caption: "Sessions of all tenants that have most of it", signal,
    columns: [
      {title: "client identifier", value: row => named("sessions", row)},
      {title: "connected", value: row => row.connected ? "yes" : "no"},
      {title: "messages", numeric: true, value: row => number(row.messages)},
      {title: "bytes", numeric: true, value: row => bytes(row.bytes)},
      {title: "subscriptions", numeric: true, value: row => number(row.subscriptions)},
      {title: "oldest", numeric: true, value: row => row.oldestMillis < 0 ? "–" : number(row.oldestMillis) + " ms"},
    ],
  });
  const lanes = ranking({
    title: "Lanes", id: "lanes-by", path: "/top/lanes", figures: OF_LANES, caption: "Lanes of this node, each of which has the clients of one event loop", signal,
    columns: [
      {title: "lane", numeric: true, value: row => number(row.lane)},
      {title: "a second", numeric: true, value: row => number(row.perSecond)},
      {title: "oldest", numeric: true, value: row => row.oldestMillis ? number(row.oldestMillis) + " ms" : "–"},
      {title: "on their way", numeric: true, value: row => number(row.messages) + ", " + bytes(row.bytes)},
      {title: "held back", numeric: true, value: row => number(row.heldConnections)},
    ],
  });
  const waiting = queues(signal);
  const parts = [clients, sessions, lanes, waiting];
  const reload = () => parts.forEach(part => part.reload());
  root.append(
    make("p", {class: "row"}, button("Refresh", reload, {id: "refresh"})), make("div", {id: "top-clients"}, clients.element), make("div", {id: "top-sessions"}, sessions.element), make("div", {id: "top-lanes"}, lanes.element), waiting.element,
    mayDo(role, "operator") ? sample(signal) : hint("To sample messages needs the role operator."));
  reload();
}
