// The cluster as this node knows it, and the node's own replicas.

import {call, get, mayDo} from "./api.js";
import {backup} from "./backup.js";
import {ask, button, complain, facts, make, say, section, shortId} from "./dom.js";
import {local} from "./listing.js";
import {moves} from "./moves.js";
import {bytes, duration, number} from "./text.js";

const id = text => make("code", {}, text);

function replicas(signal) {
  const listing = local({
    path: "/replicas",
    caption: "This node's replicas of ranges",
    filterLabel: "Filter by range or role",
    text: row => row.name + " " + row.role,
    signal,
    columns: [
      {title: "range", value: row => row.name},
      {title: "role", value: row => row.role},
      {title: "leader", value: row => row.leader ? shortId(row.leader) : "unknown"},
      {title: "term", numeric: true, value: row => number(row.term)},
      {title: "applied", numeric: true, value: row => number(row.applied)},
      {title: "behind by", numeric: true, value: row => number(row.applyLag)},
      {title: "queued", numeric: true, value: row => number(row.queued)},
      {title: "oldest command", numeric: true, value: row => number(row.oldestMillis) + " ms"},
      {title: "log", numeric: true, value: row => bytes(row.logBytes)},
    ],
  });
  listing.reload();
  return section("Replicas", listing.element);
}

// Asks, begins an operation, and shows it among the others.
async function change(question, yes, method, path, after, signal) {
  if (!await ask(question, yes)) return;
  const answer = await call(method, path, {body: method === "POST" ? {} : undefined, signal});
  say(answer.operation ? "The operation " + answer.operation + " has begun." : "Done.");
  after();
}

function nodes(admin, after, signal) {
  const act = (row, title, question, method, action) =>
    button(title, () => change(question + " (" + row.host + ", " + row.id.slice(0, 8) + ")", title, method, "/cluster/nodes/" + row.id + action, after, signal).catch(complain), {class: "grave"});
  const actions = row => row.state === "LEFT"
    ? act(row, "Forget", "Remove this node from the list?", "DELETE", "")
    : make("span", {}, act(row, "Drain", "Move everything off this node, which stays a member?", "POST", "/drain"), " ",
      act(row, "Leave", "Move everything off this node, which then leaves the cluster for good?", "POST", "/leave"));
  return local({
    path: "/cluster/nodes",
    caption: "Nodes of the cluster",
    filterLabel: "Filter by id, host, zone or state",
    text: row => [row.id, row.host, row.region, row.zone, row.state, ...row.roles].join(" "),
    signal,
    columns: [
      {title: "node", value: row => shortId(row.id)},
      {title: "host", value: row => row.host},
      {title: "region and zone", value: row => [row.region, row.zone].filter(Boolean).join(", ") || "–"},
      {title: "state", value: row => make("span", {class: row.state === "JOINED" ? "good" : "bad"}, row.state.toLowerCase())},
      {title: "replicas", numeric: true, value: row => number(row.replicas)},
      {title: "disk", value: row => row.disk === "ENOUGH" ? "has room" : make("span", {class: "bad"}, row.disk === "LOW" ? "nearly full" : "no room for replicas")},
      {title: "roles", value: row => row.roles.join(", ")},
      ...admin ? [{title: "change", value: actions}] : [],
    ],
  });
}

// Asks each node, so it takes two seconds when one does not answer.
function health(signal) {
  const well = (good, text) => make("span", {class: good ? "good" : "bad"}, text);
  return local({
    path: "/cluster/health",
    caption: "What each node says of itself",
    filterLabel: "Filter by id, host or state",
    text: row => [row.node, row.host, row.state, row.health, row.readiness].join(" "),
    signal,
    columns: [
      {title: "node", value: row => shortId(row.node)},
      {title: "host", value: row => row.host},
      {title: "state", value: row => well(row.state === "JOINED", row.state.toLowerCase())},
      {title: "health", value: row => well(row.healthy, row.health)},
      {title: "readiness", value: row => well(row.ready, row.readiness)},
      {title: "version", value: row => row.version || "–"},
      {title: "up for", value: row => row.version ? duration(row.uptimeSeconds) : "–"},
    ],
  });
}

function ranges(change, signal) {
  return local({
    path: "/cluster/ranges",
    caption: "Ranges of the cluster",
    filterLabel: "Filter by id, kind or node",
    text: row => [row.id, row.kind, ...row.voters, row.leader].join(" "),
    signal,
    columns: [
      {title: "range", value: row => shortId(row.id)},
      {title: "kind", value: row => row.kind},
      {title: "keys", value: row => make("code", {}, row.keys)},
      {title: "epoch", numeric: true, value: row => number(row.epoch)},
      {title: "leader", value: row => row.leader ? shortId(row.leader) : make("span", {class: "bad"}, "unknown")},
      {title: "voters", value: row => make("span", {}, ...row.voters.flatMap((voter, i) => i ? [", ", shortId(voter)] : [shortId(voter)]))},
      ...change ? [{title: "change", value: change}] : [],
    ],
  });
}

/** What is left of the step that an operation is at. */
function left(row) {
  if (row.left < 0) return "–";
  return row.unit === "bytes" ? bytes(row.left) : number(row.left) + " " + row.unit;
}

function operations(admin, signal) {
  const listing = local({
    path: "/cluster/operations",
    caption: "Operations in progress",
    filterLabel: "Filter",
    text: row => row.id + " " + row.what,
    signal,
    columns: [
      {title: "operation", value: row => id(row.id)},
      {title: "what", value: row => row.what},
      {title: "step", value: row => row.step ? row.step + " of " + row.steps + ": " + row.doing : "not known"},
      {title: "left", numeric: true, value: row => left(row)},
      {title: "for", numeric: true, value: row => row.step ? duration(row.seconds) : "–"},
      {title: "waits for", value: row => row.waiting || "–"},
      {title: "cancelled", value: row => row.cancelled ? "yes" : "no"},
      ...admin ? [{title: "change", value: row => button("Cancel", () => cancel(row).catch(complain), {class: "grave"})}] : [],
    ],
  });
  const cancel = row => change("Cancel this operation, and undo the steps already done? " + row.what, "Cancel the operation", "DELETE", "/cluster/operations/" + encodeURIComponent(row.id), listing.reload, signal);
  return listing;
}

export function cluster({root, role, signal}) {
  const about = make("div", {id: "cluster"});
  root.append(about);
  show().catch(complain);

  async function show() {
    let view;
    try {
      view = await get("/cluster", {}, signal);
    } catch (error) {
      if (error.status !== 409) throw error;
      about.append(make("p", {}, error.message));
      root.append(replicas(signal), backup(role, signal));
      return;
    }
    about.append(facts([
      ["Cluster", id(view.cluster || "none yet")],
      ["This node", id(view.node)],
      ["Meta group", make("span", {class: view.connected ? "good" : "bad"}, view.connected ? "reached" : "not reached: what is here may be old")],
      ["Map", "version " + number(view.mapVersion)],
      ["Roles", view.missingRoles.length === 0 ? "each has a node" : make("span", {class: "bad"}, "no node has: " + view.missingRoles.join(", "))],
    ]));
    const admin = mayDo(role, "admin");
    const moving = operations(admin, signal);
    const members = nodes(admin, () => moving.reload(), signal);
    const placing = admin ? moves(() => moving.reload(), signal) : null;
    const parts = ranges(placing?.change, signal);
    const asked = health(signal);
    root.append(section("Nodes", members.element), section("Health", asked.element), section("Operations", moving.element), section("Ranges", parts.element), placing?.element ?? "");
    for (const listing of [members, asked, moving, parts]) listing.reload();
    root.append(replicas(signal), backup(role, signal));
  }
}
