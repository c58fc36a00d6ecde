// Traces: real messages followed through all nodes, started here, and read as their lines come.

import {all, call, keepFollowing, mayDo, segment} from "./api.js";
import {tenantField} from "./clients.js";
import {button, complain, facts, form, hint, labelled, make, notice, say, section, shortId, textField} from "./dom.js";
import {ledger} from "./ledger.js";
import {local, paged} from "./listing.js";
import {bytes, clock, moment, number, shortened, visible} from "./text.js";

// Of each trace, as many as a node keeps of one.
const LINES_MAX = 10000;
const SHOW_MILLIS = 250;

const MINUTES = {min: "1", max: "60", value: "5"};

function followed(row) {
  const by = [["client", row.client], ["topic", row.topic], ["address", row.address]].filter(([, value]) => value);
  return make("span", {}, ...by.flatMap(([name, value], i) => [(i ? ", " : "") + name + " ", make("bdi", {}, shortened(value))]));
}

function starting(clientId, tenant, signal) {
  const client = textField({id: "traced-client", value: clientId, maxlength: "65535"});
  const topic = textField({id: "traced-topic", maxlength: "65535"});
  const address = textField({id: "traced-address", maxlength: "64"});
  const minutes = make("input", {type: "number", required: true, ...MINUTES});
  const tenants = tenantField(tenant);

  async function start() {
    const body = {client: client.value, topic: topic.value, remoteAddress: address.value, minutes: Number(minutes.value), tenant: tenants.input.value};
    const begun = await call("POST", "/traces", {body, signal});
    location.hash = "#/traces/" + encodeURIComponent(begun.trace);
  }

  return section("Start a trace",
    hint("Follows the messages that meet all that is given, at least one of client, topic filter and address. Payloads are not shown."),
    form(() => start().catch(complain), labelled("Client, as publisher or subscriber", client), labelled("Topic filter", topic), labelled("IP address of the client", address),
      labelled("Minutes", minutes), tenants.label, make("button", {id: "start-trace"}, "Start the trace")));
}

export function traces({root, path: [trace, clientId, tenant], role, signal}) {
  if (trace && trace !== "new") return one(root, trace, role, signal);
  const listing = local({
    path: "/traces",
    caption: "Traces that run, and those that have ended and can still be read",
    filterLabel: "Filter",
    text: row => [row.trace, row.client, row.topic, row.address].join(" "),
    signal,
    columns: [
      {title: "trace", value: row => make("a", {href: "#/traces/" + encodeURIComponent(row.trace)}, row.trace)},
      {title: "follows", value: followed},
      {title: "begun", value: row => moment(row.begun)},
      {title: "ends", value: row => row.running ? moment(row.ends) : "has ended"},
      {title: "nodes", numeric: true, value: row => number(row.nodes)},
      {title: "lines", numeric: true, value: row => number(row.lines)},
      {title: "left out", numeric: true, value: row => number(row.leftOut)},
    ],
  });
  const losses = ledger(signal);
  root.append(listing.element, mayDo(role, "operator") ? starting(clientId ?? "", tenant, signal) : hint("To start a trace needs the role operator."), losses.element);
  listing.reload();
  losses.reload();
}

// The last lines of a trace, in the order of time. They are shown some times a second, however many there are.
function lines(signal) {
  const rows = paged({
    caption: "Lines of the trace in the order of time, at most the last " + number(LINES_MAX),
    filterLabel: "Filter by hop, step, reason, topic or client",
    text: line => [line.hop, line.step, line.reason, line.topic, line.publisher, line.client].join(" "),
    columns: [
      {title: "time", value: line => make("time", {datetime: line.at}, clock(line.at))},
      {title: "node", value: line => line.node ? shortId(line.node) : ""},
      {title: "hop", value: line => line.hop},
      {title: "step", value: line => make("span", {class: line.step === "dropped" || line.step === "refused" ? "bad" : ""}, line.step)},
      {title: "reason", value: line => make("bdi", {}, shortened(line.reason))},
      {title: "topic", value: line => make("bdi", {}, shortened(line.topic))},
      {title: "publisher", value: line => make("bdi", {}, shortened(line.publisher))},
      {title: "subscriber", value: line => make("bdi", {}, shortened(line.client))},
      {title: "QoS", value: line => line.hop === "trace" ? "" : line.qos + (line.retain ? ", retain" : "")},
      {title: "payload", numeric: true, value: line => line.hop === "trace" ? "" : bytes(line.payloadBytes)},
    ],
  });
  let kept = [];
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  function show() {
    timer = 0;
    rows.append(kept);
  }

  return {
    element: make("div", {id: "lines"}, rows.element),
    add(line) {
      kept.push(line);
      if (kept.length > LINES_MAX) kept.shift();
      timer ||= setTimeout(show, SHOW_MILLIS);
    },
    clear() {
      kept = [];
    },
  };
}

function one(root, trace, role, signal) {
  const about = make("div", {id: "trace"});
  const state = make("p", {id: "trace-state", role: "status"}, "Its lines are read.");
  const lost = notice();
  const rows = lines(signal);
  const losses = ledger(signal);
  const ending = button("End the trace", () => end().catch(complain), {id: "end-trace", hidden: true});
  let again = false; // a stream begins with the first line

  // Answers whether the trace has ended.
  async function load() {
    const list = await all("/traces", {}, signal);
    losses.reload();
    const row = list.rows.find(each => each.trace === trace);
    lost.show(list.unanswered.length ? "Lines may be missing: " + list.unanswered.join("; ") + "." : "");
    ending.hidden = !row?.running || !mayDo(role, "operator");
    if (!row) return list.unanswered.length === 0;
    about.replaceChildren(facts([
      ["Trace", make("code", {}, row.trace)],
      ["Follows", followed(row)],
      ["Tenant", visible(row.tenant)],
      ["Begun", moment(row.begun)],
      ["Ends", row.running ? moment(row.ends) : "has ended"],
      ["Nodes", number(row.nodes)],
    ]));
    return !row.running;
  }

  async function end() {
    await call("DELETE", "/traces/" + segment(trace), {signal});
    say("The trace has been ended. Its lines can still be read.");
    await load();
  }

  async function follow() {
    const running = !await load();
    state.textContent = running ? "The trace runs; its lines come by themselves." : "The trace has ended.";
    await keepFollowing("/events/traces/" + segment(trace), {}, line => {
      if (again) rows.clear();
      again = false;
      rows.add(line);
    }, error => {
      again ||= error !== null;
      state.textContent = error ? error.message + (error.status ? "" : " What is below is from before.") : "The trace runs; its lines come by themselves.";
    }, signal, async () => {
      const ended = await load();
      if (ended) state.textContent = "The trace has ended.";
      return ended;
    });
  }

  root.append(make("p", {}, make("a", {href: "#/traces"}, "All traces")), about, make("p", {class: "row"}, ending), state, lost.element, rows.element, losses.element);
  follow().catch(complain);
}
