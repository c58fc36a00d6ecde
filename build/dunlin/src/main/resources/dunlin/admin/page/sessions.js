// Sessions of clients: a listing by pages, and one of them with what can be done to it.

import {call, get, mayDo} from "./api.js";
import {ask, button, complain, facts, labelled, make, say, textField} from "./dom.js";
import {remote} from "./listing.js";
import {bytes, expiry, number, shortened, visible} from "./text.js";

const here = (clientId, tenant) => "#/sessions/" + encodeURIComponent(clientId) + "/" + encodeURIComponent(tenant);
const path = clientId => "/sessions/" + encodeURIComponent(clientId);

export function tenantField() {
  const input = textField({value: "default", maxlength: "64"});
  return {input, label: labelled("Tenant", input)};
}

export function sessions({root, path: [clientId, tenant], role, signal}) {
  if (clientId) return session(root, clientId, tenant ?? "default", role, signal);
  const tenants = tenantField();
  const listing = remote({
    path: "/sessions",
    caption: "Sessions, in the order of their client identifiers",
    prefixLabel: "Client identifiers that begin with",
    fields: {tenant: tenants},
    signal,
    columns: [
      {title: "client identifier", value: row => make("a", {href: here(row.clientId, tenants.input.value)}, make("bdi", {}, shortened(row.clientId)))},
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
  const shown = make("div", {id: "session"});
  const query = {tenant};

  async function load() {
    const row = await get(path(clientId), query, signal);
    shown.replaceChildren(facts([
      ["Client identifier", make("bdi", {id: "client-id"}, visible(row.clientId))],
      ["Tenant", visible(tenant)],
      ["User", row.user ? make("bdi", {}, visible(row.user)) : "none"],
      ["Connected", row.connected ? "yes" : "no"],
      ["Ends", expiry(row.expirySeconds)],
      ["Stored subscriptions", number(row.subscriptions)],
      ["Waiting messages", number(row.messages) + ", " + bytes(row.bytes)],
    ]));
  }

  async function disconnect() {
    await call("POST", path(clientId) + "/disconnect", {query, body: {}, signal});
    say("The client was disconnected. Its session stays until it expires.");
    await load().catch(error => error.status === 404 ? shown.replaceChildren("The session has ended with its connection.") : Promise.reject(error));
  }

  async function remove() {
    if (!await ask("Delete the session of " + shortened(clientId) + ", with its subscriptions and waiting messages?", "Delete the session")) return;
    await call("DELETE", path(clientId), {query, signal});
    shown.replaceChildren("The session was deleted.");
    say("The session was deleted.");
  }

  const again = button("Refresh", () => load().catch(complain));
  const disconnecting = button("Disconnect the client", () => disconnect().catch(complain), {id: "disconnect", disabled: !mayDo(role, "operator")});
  const removing = button("Delete the session", () => remove().catch(complain), {id: "delete", class: "grave", disabled: !mayDo(role, "admin")});
  const needed = mayDo(role, "admin") ? "" : mayDo(role, "operator") ? "Deleting needs the role admin." : "Disconnecting needs the role operator, deleting admin.";
  root.append(make("p", {}, make("a", {href: "#/sessions"}, "All sessions")), shown, make("p", {class: "row"}, again, disconnecting, removing, make("span", {class: "soft"}, needed)));
  load().catch(complain);
}
