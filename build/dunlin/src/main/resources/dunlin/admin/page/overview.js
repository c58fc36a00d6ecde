// How the node is and how much it does, by a stream of events.

import {keepFollowing} from "./api.js";
import {make, notice, put, section, table} from "./dom.js";
import {spark} from "./spark.js";
import {atMost, bytes, duration, number} from "./text.js";

const MINUTE = 60;

const TILES = {
  connections: ["connections", o => number(o.status.connections)],
  sessions: ["sessions", o => o.status.sessions < 0 ? "elsewhere" : number(o.status.sessions)],
  retained: ["retained topics", o => o.status.retained < 0 ? "elsewhere" : number(o.status.retained)],
  "publishes-in": ["messages in/s", o => rate(o, o.publishesIn, number)],
  "publishes-out": ["messages out/s", o => rate(o, o.publishesOut, number)],
  "bytes-in": ["bytes in/s", o => rate(o, o.bytesIn, bytes)],
  "bytes-out": ["bytes out/s", o => rate(o, o.bytesOut, bytes)],
  heap: ["heap", o => bytes(o.status.heapUsedBytes) + " of " + bytes(o.status.heapMaxBytes)],
  uptime: ["up for", o => duration(o.status.uptimeSeconds)],
};

const rate = (o, value, format) => o.intervalMillis === 0 ? "–" : format(value);

function tiles() {
  const values = Object.fromEntries(Object.keys(TILES).map(id => [id, make("dd", {id}, "–")]));
  const element = make("dl", {class: "tiles"}, ...Object.entries(TILES).map(([id, [title]]) => make("div", {}, make("dt", {}, title), values[id])));
  return {element, show: o => Object.entries(TILES).forEach(([id, [, text]]) => put(values[id], text(o)))};
}

function state(id, good) {
  const word = make("span", {id, role: "status"}, "–");
  return {
    word,
    show(isGood, reason) {
      word.className = isGood ? "good" : "bad";
      put(word, isGood ? good : reason);
    },
  };
}

// Drops since the start, and of the last minute by what was counted a minute ago.
function drops() {
  const shown = table("Dropped messages by hop and reason", [
    {title: "hop", value: row => row.hop},
    {title: "reason", value: row => row.reason},
    {title: "last minute", numeric: true, value: row => number(row.lately)},
    {title: "since the start", numeric: true, value: row => number(row.count)},
  ]);
  const none = make("p", {id: "no-drops"}, "No message was dropped.");
  const earlier = [];
  let last = "";
  shown.element.hidden = true;
  return {
    element: make("div", {id: "drops"}, none, shown.element),
    show(dropped) {
      earlier.push(dropped);
      if (earlier.length > MINUTE + 1) earlier.shift();
      const rows = Object.entries(dropped).sort().map(([name, count]) => {
        const [hop, reason] = name.split(" ");
        return {hop, reason, count, lately: count - (earlier[0][name] ?? 0)};
      });
      const now = JSON.stringify(rows);
      if (now === last) return;
      last = now;
      none.hidden = rows.length > 0;
      shown.element.hidden = rows.length === 0;
      shown.show(rows);
    },
  };
}

function times() {
  const shown = table("Times of the last minute, as bounds of the histograms", [
    {title: "time", value: row => row.title},
    {title: "measured", numeric: true, value: row => number(row.times.count)},
    {title: "half of them", numeric: true, value: row => atMost(row.times, row.times.p50AtMostMillis)},
    {title: "99 of 100", numeric: true, value: row => atMost(row.times, row.times.p99AtMostMillis)},
  ]);
  return {
    element: shown.element,
    show: o => shown.show([{title: "publish to acknowledgement", times: o.acknowledge}, {title: "publish to delivery", times: o.delivery}]),
  };
}

export function overview({root, signal}) {
  const trouble = notice({id: "stream-trouble"});
  const healthy = state("healthy", "alive");
  const ready = state("ready", "ready for clients");
  const numbers = tiles();
  const messages = spark("Messages a second", ["in", "out"]);
  const connections = spark("Connections", ["open"]);
  const latency = times();
  const lost = drops();
  root.append(
    trouble.element,
    make("p", {}, "Health: ", healthy.word, ". Readiness: ", ready.word, "."),
    numbers.element,
    make("div", {class: "columns"},
      section("Last five minutes", messages.element, connections.element),
      make("div", {}, section("Times", latency.element), section("Drops", lost.element))));

  keepFollowing("/events/overview", {}, o => {
    healthy.show(o.status.healthy, o.status.health);
    ready.show(o.status.ready, o.status.readiness);
    numbers.show(o);
    latency.show(o);
    lost.show(o.dropped);
    if (o.intervalMillis > 0) messages.add(o.publishesIn, o.publishesOut);
    connections.add(o.status.connections);
  }, error => {
    trouble.show(error === null ? "" : error.message + " What is below is from before.");
  }, signal);
}
