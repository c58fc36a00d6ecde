// Who gets a topic, and the shared subscriptions with their members and what waits for these.

import {tenantField, viewOf} from "./clients.js";
import {button, labelled, make, section, shortId, textField} from "./dom.js";
import {remote} from "./listing.js";
import {bytes, number, shortened} from "./text.js";

// Clients and sessions that have subscribed: shown by a topic, or by one topic filter.
function subscribers(signal) {
  const topic = {value: ""};
  const filter = {value: ""};
  const tenant = {value: "default"};
  const listing = remote({
    path: "/subscribers",
    caption: "Connected clients and durable sessions that have subscribed; of a group, one member gets each message",
    fields: {topic: {input: topic, label: ""}, filter: {input: filter, label: ""}, tenant: {input: tenant, label: ""}},
    signal,
    columns: [
      {
        title: "client identifier",
        value: row => make("a", {href: viewOf(row.durable ? "sessions" : "clients", row.clientId, tenant.value)}, make("bdi", {}, shortened(row.clientId))),
      },
      {title: "topic filter", value: row => make("bdi", {}, shortened(row.filter))},
      {title: "QoS", numeric: true, value: row => String(row.qos)},
      {title: "connected to", value: row => row.node ? shortId(row.node) : "–"},
      {title: "durable", value: row => row.durable ? "yes" : "no"},
      {title: "credit", numeric: true, value: row => row.credit < 0 ? "–" : number(row.credit)},
      {title: "not acknowledged", numeric: true, value: row => row.unacknowledged < 0 ? "–" : number(row.unacknowledged)},
      {title: "waiting", numeric: true, value: row => number(row.waiting)},
      {title: "of its group", numeric: true, value: row => row.groupWaiting < 0 ? "–" : number(row.groupWaiting)},
      {title: "given", numeric: true, value: row => row.dealt < 0 ? "–" : number(row.dealt)},
    ],
  });
  const title = make("p", {role: "status"}, "Choose a group, or ask for a topic.");
  listing.element.hidden = true; // until there is something to ask for
  return {
    element: section("Subscribers", make("div", {id: "subscribers"}, title, listing.element)),
    show(by, of) {
      topic.value = by.topic ?? "";
      filter.value = by.filter ?? "";
      tenant.value = of;
      title.replaceChildren(by.topic ? "Of the topic " : "Of the topic filter ", make("bdi", {}, shortened(by.topic ?? by.filter)));
      listing.element.hidden = false;
      listing.reload();
    },
  };
}

function routes(signal, shown) {
  const topic = textField({id: "routed", required: true, maxlength: "65535"});
  const tenant = tenantField();
  const listing = remote({
    path: "/routes",
    caption: "Topic filters that match it, and where its messages go; of a group, one member gets each",
    fields: {topic: {input: topic, label: labelled("Topic", topic)}, tenant},
    onReload: () => shown.show({topic: topic.value}, tenant.input.value),
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

const dealt = row => row.clientsDealt + Math.max(0, row.sessionsDealt);

function groups(signal, shown) {
  const tenant = tenantField();
  const listing = remote({
    path: "/groups",
    caption: "Shared subscriptions of all nodes, by their topic filters",
    fields: {tenant},
    signal,
    columns: [
      {title: "topic filter", value: row => button(shortened(row.filter), () => shown.show({filter: row.filter}, tenant.input.value), {class: "topic", title: "Show its members"})},
      {title: "members without durable sessions", numeric: true, value: row => number(row.clients)},
      {title: "durable members", numeric: true, value: row => known(row.sessions)},
      {title: "of these connected", numeric: true, value: row => known(row.sessionsConnected)},
      {title: "waiting messages", numeric: true, value: row => known(row.messages)},
      {title: "their size", numeric: true, value: row => known(row.bytes, bytes)},
      {title: "takes messages", value: row => row.stalled ? make("span", {class: "bad"}, "no member has room") : "yes"},
      {title: "given to members", numeric: true, value: row => number(dealt(row))},
    ],
  });
  listing.reload();
  return section("Shared groups", make("div", {id: "groups"}, listing.element));
}

export function topics({root, signal}) {
  const shown = subscribers(signal);
  root.append(groups(signal, shown), routes(signal, shown), shown.element);
}
