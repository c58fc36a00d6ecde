// Retained messages: a listing by pages, and one of them.

import {call, get, mayDo} from "./api.js";
import {tenantField} from "./clients.js";
import {ask, button, complain, facts, hint, make, say} from "./dom.js";
import {remote} from "./listing.js";
import {bytes, payload, shortened, visible} from "./text.js";

const PAYLOAD_SHOWN = 65536;

export function retained({root, path: [, tenant], role, signal}) {
  const tenants = tenantField(tenant);
  const shown = make("div", {id: "message", role: "region", "aria-label": "The chosen message"});
  const choose = row => {
    const query = {topic: row.topic, tenant: tenants.input.value};
    if (mayDo(role, "operator")) return button(shortened(row.topic), () => show(query).catch(complain), {class: "topic"});
    return make("bdi", {}, shortened(row.topic));
  };
  const listing = remote({
    path: "/retained",
    caption: "Topics with a retained message",
    prefixLabel: "Topics that begin with",
    fields: {tenant: tenants},
    signal,
    columns: [
      {title: "topic", value: choose},
      {title: "size with its properties", numeric: true, value: row => bytes(row.bytes)},
    ],
  });

  async function show(query) {
    const message = await get("/retained/message", query, signal);
    const cut = message.payloadBytes > PAYLOAD_SHOWN;
    const removing = button("Delete the message", () => remove(query).catch(complain), {class: "grave"});
    shown.replaceChildren(
      facts([
        ["Topic", make("bdi", {}, visible(message.topic))],
        ["QoS", String(message.qos)],
        ["Payload", bytes(message.payloadBytes) + (cut ? ", of which the first " + bytes(PAYLOAD_SHOWN) + " are here" : "")],
      ]),
      make("pre", {class: "bytes", id: "payload", tabindex: "0", role: "region", "aria-label": "Payload"}, payload(message.payload, cut)),
      mayDo(role, "admin") ? make("p", {class: "row"}, removing) : hint("Deleting needs the role admin."));
    shown.scrollIntoView({block: "nearest"});
  }

  async function remove(query) {
    if (!await ask("Delete the retained message of " + shortened(query.topic) + "?", "Delete the message")) return;
    await call("DELETE", "/retained/message", {query, signal});
    shown.replaceChildren();
    say("The retained message was deleted.");
    listing.again();
  }

  root.append(listing.element, shown);
  if (!mayDo(role, "operator")) root.append(hint("To see payloads needs the role operator."));
  listing.reload();
}
