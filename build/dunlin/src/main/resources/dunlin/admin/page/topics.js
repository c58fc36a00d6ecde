// Who gets a topic, and the shared subscriptions with what waits for their members.

import {tenantField} from "./clients.js";
import {labelled, make, section, textField} from "./dom.js";
import {remote} from "./listing.js";
import {bytes, number, shortened} from "./text.js";

function routes(signal) {
  const topic = textField({id: "routed", required: true, maxlength: "65535"});
  const listing = remote({
    path: "/routes",
    caption: "Topic filters that match it, and where its messages go; of a group, one member gets each",
    fields: {topic: {input: topic, label: labelled("Topic", topic)}, tenant: tenantField()},
    signal,
    columns: [
      {title: "topic filter", value: row => make("bdi", {}, shortened(row.filter))},
      {title: "group", value: row => row.group ? make("bdi", {}, shortened(row.group)) : "–"},
      {title: "destination", value: row => row.destination === "frontend" ? "connected clients of the node" : "shard of durable sessions"},
      {title: "node or shard", value: row => make("code", {}, row.shard)},
    ],
  });
  return section("Who gets a topic", make("div", {id: "routes"}, listing.element));
}

// -1 stands for what the leader of the sessions has not said.
const known = (count, format = number) => count < 0 ? "not known" : format(count);

// The messages of an ordered group wait for each member apart, and are not counted for the group.
const waiting = (row, count, format) => row.sessions >= 0 && count < 0 ? "for each apart" : known(count, format);

function groups(signal) {
  const listing = remote({
    path: "/groups",
    caption: "Shared subscriptions of all nodes, by their topic filters",
    fields: {tenant: tenantField()},
    signal,
    columns: [
      {title: "topic filter", value: row => make("bdi", {}, shortened(row.filter))},
      {title: "members without durable sessions", numeric: true, value: row => number(row.clients)},
      {title: "durable members", numeric: true, value: row => known(row.sessions)},
      {title: "of these connected", numeric: true, value: row => known(row.sessionsConnected)},
      {title: "waiting messages", numeric: true, value: row => waiting(row, row.messages)},
      {title: "their size", numeric: true, value: row => waiting(row, row.bytes, bytes)},
      {title: "takes messages", value: row => row.stalled ? make("span", {class: "bad"}, "no member has room") : "yes"},
    ],
  });
  listing.reload();
  return section("Shared groups", make("div", {id: "groups"}, listing.element));
}

export function topics({root, signal}) {
  root.append(groups(signal), routes(signal));
}
