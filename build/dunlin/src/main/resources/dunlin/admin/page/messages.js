// Publishes a message, and shows those of a topic filter as they come.

import {call, keepFollowing, mayDo} from "./api.js";
import {tenantField} from "./clients.js";
import {button, complain, flag, form, labelled, make, put, say, section, textField} from "./dom.js";
import {bytes, number, payload, shortened} from "./text.js";

const SHOWN_MAX = 100;
const PAYLOAD_SEEN = 4096;
const PAYLOAD_OF_ROW = 500;

function publishing(signal) {
  const topic = textField({id: "topic", required: true, maxlength: "65535"});
  const text = make("textarea", {id: "text"});
  const qos = make("select", {}, ...["0", "1", "2"].map(level => make("option", {selected: level === "1"}, level)));
  const retain = make("input", {type: "checkbox"});
  const tenants = tenantField();

  async function publish() {
    const body = {topic: topic.value, payload: text.value, qos: Number(qos.value), retain: retain.checked, tenant: tenants.input.value};
    const answer = await call("POST", "/publish", {body, signal});
    say("Published; the answer is " + answer.reason + ".");
  }

  return section("Publish",
    form(() => publish().catch(complain), labelled("Topic", topic), labelled("QoS", qos), tenants.label, flag("retain", retain), make("button", {id: "publish"}, "Publish"),
      make("div", {class: "wide"}, labelled("Payload, as text", text))));
}

// The newest message comes first. What the node has skipped is counted, and so is what has left the table.
function watching(signal) {
  const filter = textField({id: "filter", required: true, value: "#"});
  const tenants = tenantField();
  const state = make("p", {id: "watch-state", role: "status"}, "Nothing is watched.");
  const count = make("p", {id: "watch-count", class: "soft"});
  const body = make("tbody", {id: "seen"});
  const head = make("tr", {}, ...["accepted", "topic", "publisher", "QoS", "size", "payload"].map(title => make("th", {scope: "col"}, title)));
  const rows = make("table", {}, make("caption", {}, "Messages, the newest first; at most " + SHOWN_MAX), make("thead", {}, head), body);
  const stopping = button("Stop", stop, {id: "stop", disabled: true});
  let watched = null;
  let seen = 0;
  let skipped = 0;

  function show(message) {
    seen++;
    skipped += message.skipped;
    const text = payload(message.payload, message.payloadBytes > PAYLOAD_SEEN);
    const accepted = new Date(message.acceptedAtMillis);
    body.prepend(make("tr", {},
      make("td", {}, make("time", {datetime: accepted.toISOString()}, accepted.toLocaleTimeString())),
      make("th", {scope: "row"}, make("bdi", {}, shortened(message.topic))),
      make("td", {}, make("bdi", {}, shortened(message.clientId))),
      make("td", {}, message.qos + (message.retain ? ", retain" : "")),
      make("td", {class: "number"}, bytes(message.payloadBytes)),
      make("td", {}, make("div", {class: "bytes"}, text.length > PAYLOAD_OF_ROW ? text.slice(0, PAYLOAD_OF_ROW) + "…" : text))));
    while (body.rows.length > SHOWN_MAX) body.lastChild.remove();
    put(count, number(seen) + " seen, " + number(skipped) + " skipped by the node because there were too many.");
  }

  function start() {
    stop();
    watched = new AbortController();
    seen = skipped = 0;
    body.replaceChildren();
    put(count, "");
    put(state, "Watches " + shortened(filter.value) + ".");
    stopping.disabled = false;
    const query = {filter: filter.value, tenant: tenants.input.value};
    keepFollowing("/events/messages", query, show, error => put(state, error ? error.message : "Watches " + shortened(query.filter) + "."), AbortSignal.any([signal, watched.signal]));
  }

  function stop() {
    if (!watched) return;
    watched.abort();
    watched = null;
    stopping.disabled = true;
    put(state, "Nothing is watched.");
  }

  return section("Watch",
    make("p", {class: "soft"}, "Shows at most 100 messages a second and the first 4 KiB of each. While a topic filter is watched, its publishers are not told that there are no subscribers."),
    form(start, labelled("Topic filter", filter), tenants.label, make("button", {id: "watch"}, "Watch"), stopping),
    state, count,
    make("div", {class: "wide", role: "region", "aria-label": "Watched messages", tabindex: "0"}, rows));
}

export function messages({root, role, signal}) {
  if (mayDo(role, "operator")) root.append(publishing(signal), watching(signal));
  else root.append(make("p", {}, "To publish and to see messages needs the role operator."));
}
