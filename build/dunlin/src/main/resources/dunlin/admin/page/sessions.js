// Sessions of clients: a listing by pages, and one of them with its subscriptions, its inbox, and what can be done to it.

import {call, get, mayDo, segment} from "./api.js";
import {tenantField, viewOf} from "./clients.js";
import {ask, button, complain, facts, hint, make, say} from "./dom.js";
import {inbox, subscriptions} from "./inbox.js";
import {remote} from "./listing.js";
import {bytes, expiry, number, shortened, visible} from "./text.js";

export function sessions({root, path: [clientId, tenant], role, signal}) {
  if (clientId) return session(root, clientId, tenant ?? "default", role, signal);
  const tenants = tenantField(tenant);
  const listing = remote({
    path: "/sessions",
    caption: "Sessions, in the order of their client identifiers",
    prefixLabel: "Client identifiers that begin with",
    fields: {tenant: tenants},
    signal,
    columns: [
      {title: "client identifier", value: row => make("a", {href: viewOf("sessions", row.clientId, row.tenant)}, make("bdi", {}, shortened(row.clientId)))},
      {title: "user", value: row => make("bdi", {}, shortened(row.user))},
      {title: "connected", value: row => row.connected ? "yes" : "no"},
      {title: "expires", value: row => expiry(row.expirySeconds)},
      {title: "stored subscriptions", numeric: true, value: row => number(row.subscriptions)},
      {title: "waiting messages", numeric: true, value: row => number(row.messages)},
      {title: "their size", numeric: true, value: row => bytes(row.bytes)},
    ],
  });
  root.append(listing.element);
  listing.reload();
}

function session(root, clientId, tenant, role, signal) {
  const path = "/sessions/" + segment(clientId);
  const query = {tenant};
  const shown = make("div", {id: "session"});
  const contents = make("div");
  const acting = make("span", {class: "row"});
  const disconnecting = button("Disconnect the client", () => disconnect().catch(complain), {id: "disconnect", class: "grave"});
  const removing = button("Delete the session", () => remove().catch(complain), {id: "delete", class: "grave"});

  async function load() {
    const row = await get(path, query, signal);
    shown.replaceChildren(facts([
      ["Client identifier", make("bdi", {id: "client-id"}, visible(row.clientId))],
      ["Tenant", visible(row.tenant)],
      ["User", row.user ? make("bdi", {}, visible(row.user)) : "none"],
      ["Connected", row.connected ? make("a", {href: viewOf("clients", clientId, tenant)}, "yes") : "no"],
      ["Ends", expiry(row.expirySeconds)],
      ["Stored subscriptions", number(row.subscriptions)],
      ["Waiting messages", number(row.messages) + ", " + bytes(row.bytes)],
    ]));
    disconnecting.hidden = !row.connected;
    // One that ends with its connection has its subscriptions there.
    if (contents.childElementCount || row.expirySeconds === 0) return;
    contents.append(subscriptions(path, query, signal), inbox(clientId, query, role, signal));
  }

  function ended(text) {
    shown.replaceChildren(text);
    contents.replaceChildren();
    acting.hidden = true;
  }

  async function disconnect() {
    if (!await ask("Disconnect " + shortened(clientId) + "? Its session stays until it expires, and the will is published.", "Disconnect the client")) return;
    await call("POST", path + "/disconnect", {query, body: {}, signal});
    say("The client was disconnected. Its session stays until it expires.");
    await load().catch(error => error.status === 404 ? ended("The session has ended with its connection.") : Promise.reject(error));
  }

  async function remove() {
    if (!await ask("Delete the session of " + shortened(clientId) + ", with its subscriptions and waiting messages?", "Delete the session")) return;
    await call("DELETE", path, {query, signal});
    ended("The session was deleted.");
    say("The session was deleted.");
  }

  if (mayDo(role, "operator")) acting.append(disconnecting);
  if (mayDo(role, "admin")) acting.append(removing);
  const missing = mayDo(role, "admin") ? "" : hint(mayDo(role, "operator") ? "Deleting needs the role admin." : "Disconnecting needs the role operator, deleting admin.");
  root.append(
    make("p", {}, make("a", {href: "#/sessions"}, "All sessions")), shown,
    make("p", {class: "row"}, button("Refresh", () => load().catch(complain)), acting, make("a", {href: viewOf("explain", clientId, tenant)}, "Explain a message")),
    missing, contents);
  load().catch(complain);
}
