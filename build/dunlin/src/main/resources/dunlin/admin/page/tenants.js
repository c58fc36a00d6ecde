// Tenants that have a record: a listing by pages, and one of them with its limits, its figures, and what can be done to it.

import {call, get, mayDo, segment} from "./api.js";
import {viewOf} from "./clients.js";
import {ask, button, complain, facts, form, hint, labelled, make, put, say, section, table, textField} from "./dom.js";
import {remote} from "./listing.js";
import {number, visible} from "./text.js";

// As many clients and sessions of a tenant are counted.
const COUNTED_MAX = 1000;

const LIMITS = "Its own limits with commas between them, such as connections=1000,packet=64KiB; none for those of the settings";
const WHAT_IT_HAS = {clients: "Its clients", sessions: "Its sessions", retained: "Its retained messages"};

const state = row => make("span", {class: row.state === "active" ? "good" : "bad"}, row.state);

const limitsField = () => textField({id: "limits", maxlength: "1024"});

// How often each limit was reached, from a text such as connections=3,messages-in=70.
const reached = row => row.limited.split(",").filter(Boolean).map(each => each.split("=")).map(([limit, count]) => ({limit, count: Number(count)}));

function creating(signal) {
  const name = textField({id: "tenant-name", required: true, maxlength: "64"});
  const limits = limitsField();

  async function create() {
    await call("PUT", "/tenants/" + segment(name.value), {body: {limits: limits.value, expectedVersion: 0}, signal});
    location.hash = "#/tenants/" + encodeURIComponent(name.value);
  }

  return section("Create a tenant", form(() => create().catch(complain), labelled("Name", name), labelled(LIMITS, limits), make("button", {id: "create"}, "Create")));
}

export function tenants({root, path: [name], role, signal}) {
  if (name) return tenant(root, name, role, signal);
  const listing = remote({
    path: "/tenants",
    caption: "Tenants that have a record, in the order of their names",
    signal,
    columns: [
      {title: "tenant", value: row => make("a", {href: "#/tenants/" + encodeURIComponent(row.name)}, visible(row.name))},
      {title: "state", value: state},
      {title: "its own limits", value: row => row.limits.replaceAll(",", ", ") || "none"},
      {title: "connections to this node", numeric: true, value: row => number(row.connections)},
      {title: "limits reached at this node", value: row => reached(row).map(({limit, count}) => limit + ": " + number(count)).join(", ") || "none"},
    ],
  });
  root.append(listing.element, mayDo(role, "admin") ? creating(signal) : hint("To create a tenant needs the role admin."));
  listing.reload();
}

async function counted(path, tenant, signal) {
  const page = await get(path, {tenant, limit: COUNTED_MAX}, signal);
  const count = number(page.items.length) + (page.next ? " or more" : "");
  return page.unanswered.length ? count + ", without those of " + page.unanswered.join("; ") : count;
}

function tenant(root, name, role, signal) {
  const path = "/tenants/" + segment(name);
  const shown = make("div", {id: "tenant"});
  const counts = {"/clients": make("span", {id: "tenant-clients"}, "–"), "/sessions": make("span", {id: "tenant-sessions"}, "–")};
  const hits = table("Limits that its clients have reached at this node", [
    {title: "limit", value: row => row.limit},
    {title: "times", numeric: true, value: row => number(row.count)},
  ]);
  const limits = limitsField();
  const acting = make("span", {class: "row"});
  const suspending = button("Suspend the tenant", () => suspend().catch(complain), {id: "suspend", class: "grave"});
  const resuming = button("Resume the tenant", () => resume().catch(complain), {id: "resume"});
  const removing = button("Delete the tenant", () => remove().catch(complain), {id: "delete", class: "grave"});
  const changing = section("Limits", form(() => change().catch(complain), labelled(LIMITS, limits), make("button", {id: "save"}, "Save")));
  let version = -1;

  function show(row) {
    version = row.version;
    shown.replaceChildren(facts([
      ["Tenant", make("bdi", {id: "tenant-name"}, visible(row.name))],
      ["State", state(row)],
      ["Its own limits", row.limits.replaceAll(",", ", ") || "none; those of the settings count"],
      ["Connections", make("span", {}, number(row.connections) + " to this node, ", counts["/clients"], " to all nodes")],
      ["Sessions", counts["/sessions"]],
    ]), hits.element);
    hits.show(reached(row));
    limits.value = row.limits;
    const kept = row.state !== "deleting";
    acting.hidden = !kept;
    changing.hidden = !kept || !mayDo(role, "admin");
    suspending.hidden = row.state !== "active";
    resuming.hidden = row.state !== "suspended";
  }

  async function load() {
    try {
      show(await get(path, {}, signal));
    } catch (error) {
      if (error.status !== 404) throw error;
      shown.replaceChildren("The tenant " + visible(name) + " has no record.");
      acting.hidden = changing.hidden = true;
      return;
    }
    await Promise.all(Object.entries(counts).map(async ([listing, element]) => {
      put(element, "–");
      put(element, await counted(listing, name, signal));
    }));
  }

  async function suspend() {
    if (!await ask("Suspend the tenant " + visible(name) + ", disconnect its clients, and refuse them until it is resumed? What it has stays.", "Suspend")) return;
    await call("POST", path + "/suspend", {body: {expectedVersion: version}, signal});
    say("The tenant is suspended.");
    await load();
  }

  async function resume() {
    await call("POST", path + "/resume", {body: {expectedVersion: version}, signal});
    say("The tenant is resumed. Its clients may connect again.");
    await load();
  }

  async function change() {
    await call("PUT", path, {body: {limits: limits.value, expectedVersion: version}, signal});
    say("The limits were saved. They count at all nodes within a second.");
    await load();
  }

  async function remove() {
    const question = "Delete the tenant " + visible(name) + " with its sessions and their messages, its retained messages, and its users where user names say the tenant? Its clients are disconnected.";
    if (!await ask(question, "Delete", name)) return;
    await call("DELETE", path, {query: {expectedVersion: version}, signal});
    say("The tenant is being deleted. Its record is there until nothing else is left.");
    await load();
  }

  if (mayDo(role, "operator")) acting.append(suspending, resuming);
  if (mayDo(role, "admin")) acting.append(removing);
  const missing = mayDo(role, "admin") ? "" : hint(mayDo(role, "operator") ? "To change limits and to delete needs the role admin." : "To suspend needs the role operator, to change limits and to delete admin.");
  const links = Object.entries(WHAT_IT_HAS).map(([view, title]) => make("a", {href: viewOf(view, "", name)}, title));
  root.append(
    make("p", {}, make("a", {href: "#/tenants"}, "All tenants")), shown,
    make("p", {class: "row"}, button("Refresh", () => load().catch(complain), {id: "refresh"}), acting, ...links),
    missing, changing);
  acting.hidden = changing.hidden = true;
  load().catch(complain);
}
