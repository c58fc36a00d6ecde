// Clients that are connected to any node: a listing by pages, and one of them with its subscriptions and queue.

import {call, get, mayDo, segment} from "./api.js";
import {ask, button, complain, facts, hint, labelled, make, say, section, shortId, textField} from "./dom.js";
import {inbox, subscriptions} from "./inbox.js";
import {remote} from "./listing.js";
import {bytes, duration, expiry, moment, number, shortened, visible} from "./text.js";

// The address of a view of one client.
export const viewOf = (view, clientId, tenant) => "#/" + view + "/" + encodeURIComponent(clientId) + "/" + encodeURIComponent(tenant);

export function tenantField(value = "default") {
  const input = textField({value, maxlength: "64"});
  return {input, label: labelled("Tenant", input)};
}

export function clients({root, path: [clientId, tenant], role, access, signal}) {
  if (clientId) return client(root, clientId, tenant ?? "default", role, access, signal);
  const tenants = tenantField(tenant);
  const user = textField();
  const listener = textField();
  const listing = remote({
    path: "/clients",
    caption: "Connected clients of all nodes, in the order of their client identifiers",
    prefixLabel: "Client identifiers that begin with",
    fields: {user: {input: user, label: labelled("User, empty for all", user)}, listener: {input: listener, label: labelled("Listener, empty for all", listener)}, tenant: tenants},
    signal,
    columns: [
      {title: "client identifier", value: row => make("a", {href: viewOf("clients", row.clientId, row.tenant)}, make("bdi", {}, shortened(row.clientId)))},
      {title: "user", value: row => make("bdi", {}, shortened(row.user))},
      {title: "address", value: row => visible(row.address)},
      {title: "node", value: row => shortId(row.node)},
      {title: "listener", value: row => visible(row.listener)},
      {title: "MQTT", value: row => row.protocol},
      {title: "connected since", value: row => moment(row.connectedSince)},
      {title: "subscriptions", numeric: true, value: row => number(row.subscriptions)},
      {title: "in flight", numeric: true, value: row => number(row.inFlight)},
      {title: "queued here", numeric: true, value: row => number(row.queued)},
      {title: "for the socket", numeric: true, value: row => bytes(row.socketBytes)},
    ],
  });
  root.append(listing.element);
  listing.reload();
}

const yes = flag => flag ? "yes" : "no";

function details(row) {
  return facts([
    ["Client identifier", make("bdi", {id: "client-id"}, visible(row.clientId))],
    ["Tenant", visible(row.tenant)],
    ["User", row.user ? make("bdi", {}, visible(row.user)) : "none"],
    ["Certificate", row.certificate ? make("bdi", {}, visible(row.certificate)) : "none"],
    ["Connected to", make("span", {}, shortId(row.node), ", listener " + visible(row.listener) + (row.tls ? ", with TLS" : ", without TLS"))],
    ["Connected from", visible(row.address)],
    ["Connected since", moment(row.connectedSince)],
    ["Version of MQTT", row.protocol],
    ["Keep Alive", row.keepAliveSeconds ? duration(row.keepAliveSeconds) + ", silent for " + duration(row.silentMillis / 1000) : "none"],
    ["Session expires", expiry(row.sessionExpirySeconds)],
    ["Will", yes(row.will)],
    ["In flight to it", number(row.inFlight) + " of Receive Maximum " + number(row.receiveMaximum)],
    ["Queued on its node", number(row.queued) + " messages, " + bytes(row.queuedBytes)],
    ["Waits for its socket", bytes(row.socketBytes)],
    ["Received and not answered", number(row.receiving)],
    ["QoS 2 not released", number(row.unreleased)],
    ["Not read from", row.held.length ? make("span", {class: "bad"}, row.held.join(", ")) : "no"],
  ]);
}

const STATES = {
  out: {sent: "sent, not acknowledged", received: "PUBREC is being recorded", released: "PUBREL sent"},
  in: {delivering: "not answered by all destinations", answered: "waits for those before it", received: "PUBREC sent, not released"},
};

// path: that of the client
function inFlight(path, query, signal) {
  const listing = remote({
    path: path + "/inflight",
    query,
    caption: "Messages of QoS 1 and 2 whose exchanges are not over, by their packet identifiers",
    signal,
    columns: [
      {title: "packet identifier", numeric: true, value: row => String(row.packetId)},
      {title: "direction", value: row => row.direction === "out" ? "to the client" : "from the client"},
      {title: "QoS", numeric: true, value: row => String(row.qos)},
      {title: "state", value: row => STATES[row.direction][row.state]},
      {title: "topic", value: row => row.topic ? make("bdi", {}, shortened(row.topic)) : "–"},
      {title: "size", numeric: true, value: row => row.bytes < 0 ? "–" : bytes(row.bytes)},
      {title: "age", numeric: true, value: row => row.ageSeconds < 0 ? "–" : duration(row.ageSeconds)},
    ],
  });
  listing.reload();
  return section("In flight", make("div", {id: "in-flight"}, listing.element));
}

function queue(path, query, signal) {
  const listing = remote({
    path: path + "/queue",
    query,
    caption: "Messages of QoS 1 and 2 that wait on its node, the next one first",
    signal,
    columns: [
      {title: "place", numeric: true, value: row => number(row.place)},
      {title: "topic", value: row => make("bdi", {}, shortened(row.topic))},
      {title: "publisher", value: row => make("bdi", {}, shortened(row.publisher))},
      {title: "QoS", value: row => row.qos + (row.retain ? ", retain" : "")},
      {title: "payload", numeric: true, value: row => bytes(row.payloadBytes)},
      {title: "has waited", numeric: true, value: row => duration(row.ageSeconds)},
      {title: "expires", value: row => row.expiresAt ? moment(row.expiresAt) : "never"},
    ],
  });
  listing.reload();
  return section("Queue on its node", make("div", {id: "queue"}, listing.element));
}

function client(root, clientId, tenant, role, access, signal) {
  const path = "/clients/" + segment(clientId);
  const query = {tenant};
  const shown = make("div", {id: "client"});
  const contents = make("div");
  const acting = make("span", {class: "row"});

  async function load() {
    let row;
    try {
      row = await get(path, query, signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      absent();
      return;
    }
    shown.replaceChildren(details(row));
    acting.hidden = false;
    if (contents.childElementCount) return;
    contents.append(subscriptions(path, query, signal), inFlight(path, query, signal), queue(path, query, signal));
    if (row.durable) contents.append(inbox(clientId, query, role, signal));
  }

  function absent() {
    const text = make("p", {}, "The client ", make("bdi", {}, shortened(clientId)), " is not connected. Its ", make("a", {href: viewOf("sessions", clientId, tenant)}, "session"), " may be there.");
    shown.replaceChildren(text);
    contents.replaceChildren();
    acting.hidden = true;
  }

  async function disconnect() {
    if (!await ask("Disconnect " + shortened(clientId) + "? A durable session stays until it expires, and the will is published.", "Disconnect the client")) return;
    await call("DELETE", path, {query, signal});
    say("The client was disconnected.");
    await load();
  }

  if (mayDo(role, "operator")) {
    acting.append(button("Disconnect the client", () => disconnect().catch(complain), {id: "disconnect", class: "grave"}));
    if (access) acting.append(make("a", {href: "#/bans/client/" + encodeURIComponent(clientId)}, "Ban it"));
  }
  const links = Object.entries({sessions: "Its session", explain: "Explain a message", "traces/new": "Trace its messages"})
    .filter(([view]) => view !== "traces/new" || mayDo(role, "operator"))
    .map(([view, title]) => make("a", {href: viewOf(view, clientId, tenant)}, title));
  root.append(
    make("p", {}, make("a", {href: "#/clients"}, "All clients")), shown,
    make("p", {class: "row"}, button("Refresh", () => load().catch(complain)), acting, ...links),
    mayDo(role, "operator") ? "" : hint("To disconnect clients needs the role operator."), contents);
  load().catch(complain);
}
