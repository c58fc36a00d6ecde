// What clients and sessions have subscribed to, and the messages that wait in the inbox of a session.

import {get, mayDo, segment} from "./api.js";
import {button, complain, facts, hint, make, section} from "./dom.js";
import {remote} from "./listing.js";
import {bytes, duration, moment, number, payload, shortened, visible} from "./text.js";

const PAYLOAD_SHOWN = 65536;
const RETAIN_HANDLING = ["always", "for a new one", "never"];

// path: that of the client or session
export function subscriptions(path, query, signal) {
  const listing = remote({
    path: path + "/subscriptions",
    query,
    caption: "Subscriptions, in the order of their topic filters",
    signal,
    columns: [
      {title: "topic filter", value: row => make("bdi", {}, shortened(row.filter))},
      {title: "QoS", numeric: true, value: row => String(row.qos)},
      {title: "No Local", value: row => row.noLocal ? "yes" : "no"},
      {title: "Retain As Published", value: row => row.retainAsPublished ? "yes" : "no"},
      {title: "retained messages", value: row => RETAIN_HANDLING[row.retainHandling]},
      {title: "identifier", numeric: true, value: row => row.identifier ? String(row.identifier) : "–"},
    ],
  });
  listing.reload();
  return section("Subscriptions", listing.element);
}

export function inbox(clientId, query, role, signal) {
  const path = "/sessions/" + segment(clientId) + "/messages";
  const shown = make("div", {id: "waiting", role: "region", "aria-label": "The chosen message"});
  const choose = row => {
    if (!mayDo(role, "operator")) return make("bdi", {}, shortened(row.topic));
    return button(shortened(row.topic), () => show(row.sequence).catch(complain), {class: "topic"});
  };
  const listing = remote({
    path,
    query,
    caption: "Messages in the inbox, the oldest first; they stay there",
    signal,
    columns: [
      {title: "topic", value: choose},
      {title: "publisher", value: row => make("bdi", {}, shortened(row.publisher))},
      {title: "QoS", value: row => row.qos + (row.retain ? ", retain" : "")},
      {title: "payload", numeric: true, value: row => bytes(row.payloadBytes)},
      {title: "accepted", value: row => moment(row.acceptedAt)},
      {title: "has waited", numeric: true, value: row => duration(row.ageSeconds)},
      {title: "expires", value: row => row.expiresAt ? moment(row.expiresAt) : "never"},
      {title: "sent", value: row => row.sent ? "maybe" : "no"},
    ],
  });

  async function show(sequence) {
    const message = await get(path + "/" + sequence, query, signal);
    const cut = message.payloadBytes > PAYLOAD_SHOWN;
    shown.replaceChildren(
      facts([
        ["Topic", make("bdi", {}, visible(message.topic))],
        ["Publisher", make("bdi", {}, visible(message.publisher))],
        ["Place in the inbox", number(message.sequence)],
        ["Payload", bytes(message.payloadBytes) + (cut ? ", of which the first " + bytes(PAYLOAD_SHOWN) + " are here" : "")],
      ]),
      make("pre", {class: "bytes", id: "waiting-payload", tabindex: "0", role: "region", "aria-label": "Payload"}, payload(message.payload, cut)));
    shown.scrollIntoView({block: "nearest"});
  }

  listing.reload();
  return section("Waiting messages", listing.element, shown, mayDo(role, "operator") ? "" : hint("To see payloads needs the role operator."));
}
