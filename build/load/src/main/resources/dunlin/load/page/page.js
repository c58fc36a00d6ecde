// The live page: takes the run's events, and draws them. Nothing is sent but the request for them.
"use strict";

const ROWS_MAX = 4000;
const TABLE_ROWS = 15;
const AGAIN_MILLIS = 5000;
// A row, as the tool sends it.
const [SECOND, CONNECTED, CONNECTS, PUBLISHED, RECEIVED, ERRORS, P50, P90, P99, MAX] = Array(10).keys();

const at = id => document.getElementById(id);
const number = n => Math.round(n).toLocaleString("en");

function time(us) {
  if (us == null || us < 0) return "–";
  if (us < 1000) return us.toFixed(0) + " µs";
  if (us < 1e5) return (us / 1e3).toFixed(2) + " ms";
  if (us < 1e6) return (us / 1e3).toFixed(0) + " ms";
  return (us / 1e6).toFixed(2) + " s";
}

function duration(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return whole + " s";
  return Math.floor(whole / 60) + " min " + whole % 60 + " s";
}

// Writes only what has changed, so that a screen reader and the browser have less to do.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function element(parent, name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

// ---- what is known

let run = null;
let rows = [];
let state = null;
let ended = false;
let lastEvent = "";

function forget() {
  rows = [];
  state = null;
  ended = false;
  at("result").hidden = true;
  at("troubles").hidden = true;
  at("no-errors").hidden = false;
  at("workers").hidden = true;
}

// Two rows as one, as the tool does it with what is long ago.
function together(one, other) {
  const row = other.slice();
  for (const rate of [CONNECTS, PUBLISHED, RECEIVED, ERRORS]) row[rate] = (one[rate] + other[rate]) / 2;
  for (const longest of [P50, P90, P99, MAX]) row[longest] = Math.max(one[longest], other[longest]);
  return row;
}

function add(more) {
  rows.push(...more);
  if (rows.length <= ROWS_MAX) return;
  const half = ROWS_MAX / 2;
  const older = [];
  for (let i = 0; i < half; i += 2) older.push(together(rows[i], rows[i + 1]));
  rows = older.concat(rows.slice(half));
}

// ---- plots

const shorten = n => Math.abs(n) >= 1e6 ? +(n / 1e6).toFixed(2) + "M" : Math.abs(n) >= 1e4 ? +(n / 1e3).toFixed(1) + "k" : String(+n.toFixed(2));
const axisTime = us => time(us).replace(".00 ", " ");
const COLOURS = ["--one", "--two", "--three", "--four"];
const PLOTS = [
  { id: "plot-connections", title: "Clients", format: number, axis: shorten, lines: [["connected", CONNECTED], ["connects/s", CONNECTS]] },
  { id: "plot-messages", title: "Messages in a second", format: number, axis: shorten, lines: [["published", PUBLISHED, [6, 4]], ["received", RECEIVED]] },
  { id: "plot-times", title: "Delivery times", format: time, axis: axisTime, lines: [["p50", P50], ["p90", P90, [6, 4]], ["p99", P99], ["max", MAX, [2, 3]]] },
  { id: "plot-errors", title: "Errors in a second", format: number, axis: shorten, lines: [["errors", ERRORS]], colour: "--four" },
];
const TOTALS = {
  "all-published": "published", "all-received": "received", "all-outstanding": "outstanding", "all-duplicated": "duplicated",
  "all-out-of-order": "outOfOrder",
};
const RATES = { connected: CONNECTED, connects: CONNECTS, published: PUBLISHED, received: RECEIVED, errors: ERRORS };
const TIMES = { p50: P50, p90: P90, p99: P99, max: MAX };
let drawn = [];

function columns(plot) {
  return [rows.map(row => row[SECOND]), ...plot.lines.map(line => rows.map(row => row[line[1]] < 0 ? null : row[line[1]]))];
}

function draw() {
  const colours = getComputedStyle(document.documentElement);
  const colour = variable => colours.getPropertyValue(variable).trim();
  for (const one of drawn) one.destroy();
  drawn = PLOTS.map(plot => {
    const figure = at(plot.id);
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    return new uPlot({
      title: plot.title, width: figure.clientWidth, height: 230,
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, Math.max(high * 1.05, 1)] } },
      series: [{ label: "second", value: (u, v) => v == null ? "–" : v.toFixed(0) },
        ...plot.lines.map((line, i) => ({
          label: line[0], stroke: colour(plot.colour || COLOURS[i]), width: 1.5, dash: line[2], spanGaps: true,
          points: { show: false },
          value: (u, v) => v == null ? "–" : plot.format(v),
        }))],
      axes: [axis, { ...axis, size: 70, values: (u, values) => values.map(plot.axis) }],
      legend: { live: true },
    }, columns(plot), figure);
  });
}

function redraw() {
  drawn.forEach((one, i) => one.setData(columns(PLOTS[i])));
}

// ---- figures

function showRows() {
  const last = rows.at(-1);
  if (!last) return;
  for (const [id, place] of Object.entries(RATES)) put(at(id), number(last[place]));
  for (const [id, place] of Object.entries(TIMES)) put(at(id), time(last[place]));
  at("errors").className = last[ERRORS] > 0 ? "bad" : "";
  if (at("rows").open) tableOfRows();
}

function tableOfRows() {
  fill(at("rows-body"), rows.slice(-TABLE_ROWS).reverse().map(row =>
    [number(row[SECOND]), ...row.slice(CONNECTED, P50).map(number), ...row.slice(P50).map(time)]));
}

function fill(body, lines, isText = () => false) {
  while (body.rows.length > lines.length) body.deleteRow(-1);
  lines.forEach((cells, i) => {
    const row = body.rows[i] || body.insertRow();
    cells.forEach((cell, j) => {
      const place = row.cells[j] || element(row, j ? "td" : "th");
      if (!j) place.scope = "row";
      put(place, cell);
      place.className = isText(j) ? "text" : cell === "0" ? "zero" : "";
    });
  });
}

function showState(next) {
  const before = state ? state.troubles : next.troubles;
  state = next;
  showPhase(next.phase);
  for (const [id, key] of Object.entries(TOTALS)) put(at(id), number(next[key]));
  for (const id of ["all-duplicated", "all-out-of-order"]) at(id).className = at(id).textContent === "0" ? "zero" : "bad";
  const troubles = Object.entries(next.troubles);
  at("no-errors").hidden = troubles.length > 0;
  at("troubles").hidden = troubles.length === 0;
  fill(at("troubles-body"), troubles.map(([reason, n]) => [reason, number(n), number(n - (before[reason] || 0))]), j => j === 0);
  at("workers").hidden = next.workers.length === 0;
  const workers = next.workers.map(w => [w.name, w.share, w.state, number(w.connected), number(w.published), number(w.received)]);
  fill(at("workers-body"), workers, j => j === 2);
  next.workers.forEach((w, i) => { if (w.isLost) at("workers-body").rows[i].cells[2].className = "text bad"; });
}

function showPhase(phase) {
  if (ended) return;
  const end = phase.name === "end" && phase.number === phase.of;
  say(end ? "Adds up what was measured." : `Runs: phase ${phase.number} of ${phase.of}, ${phase.name}.`);
  const bar = at("progress");
  bar.hidden = phase.secondsMax === undefined;
  if (!bar.hidden) bar.value = Math.min(1, phase.seconds / phase.secondsMax);
  const of = phase.secondsMax === undefined ? "" : ` of at most ${duration(phase.secondsMax)}`;
  put(at("elapsed"), end ? "" : `${duration(phase.seconds)}${of} in this phase, ${duration(rows.length ? rows.at(-1)[SECOND] : 0)} in all`);
}

function say(text, className = "") {
  put(at("status"), text);
  at("status").className = className;
}

// ---- the result

function showEnd(result) {
  ended = true;
  at("progress").hidden = true;
  put(at("elapsed"), "");
  if (result.failed) {
    say("The run has failed; the terminal says why.", "bad");
    return;
  }
  const good = result.missing.length === 0 && result.expectations.every(e => e.met);
  say(`The run has ended${result.endedEarly ? " early" : ""}, after ${duration(result.seconds)}. ` +
    (result.expectations.length === 0 && good ? "" : good ? "All expectations were met." : "It was not good; see the result."), good ? "good" : "bad");
  const body = at("result-body");
  body.replaceChildren();
  for (const missing of result.missing) element(body, "p", "Missing: " + missing, "notice");
  for (const warning of result.warnings) element(body, "p", "Warning: " + warning, "notice");
  for (const e of result.expectations) element(body, "p", `${e.met ? "met" : "not met"}: ${e.expectation} (was ${number(e.value)})`, e.met ? "good" : "bad");
  table(body, "Times", ["", "count", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "rate/s"],
    Object.values(result.times).map(t => [t.label, number(t.count), ...[t.min, t.mean, t.p50, t.p90, t.p95, t.p99, t.p999, t.max].map(time), number(t.rate)]));
  table(body, "Messages", ["", "QoS 0", "QoS 1", "QoS 2"], Object.entries(result.messages).map(([kind, numbers]) => [kind, ...numbers.map(number)]));
  const troubles = Object.entries(result.troubles);
  if (troubles.length) table(body, "What went wrong, and what else came", ["", "number"], troubles.map(([reason, n]) => [reason, number(n)]));
  if (result.losses.length) {
    table(body, "Largest losses", ["publisher", "topic", "receiver", "QoS", "sent", "lost"],
      result.losses.map(l => [l.publisher, l.topic, l.receiver, String(l.qos), number(l.sent), number(l.lost)]));
  }
  at("result").hidden = false;
}

function table(parent, caption, head, lines) {
  const region = element(parent, "div", undefined, "wide");
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", caption);
  const made = element(region, "table");
  element(made, "caption", caption);
  const top = element(element(made, "thead"), "tr");
  head.forEach(text => { element(top, text ? "th" : "td", text).scope = "col"; });
  fill(element(made, "tbody"), lines);
}

// ---- events

function listen() {
  const events = new EventSource("events" + (lastEvent ? "?after=" + encodeURIComponent(lastEvent) : ""));
  const on = (kind, take) => events.addEventListener(kind, event => take(JSON.parse(event.data), event));
  on("run", about => {
    if (about.run !== run) forget();
    run = about.run;
    put(at("name"), about.name);
    document.title = about.name + " – load test";
    if (state) showPhase(state.phase);
    else say(`Prepares ${number(about.clients)} clients.`);
  });
  on("seconds", (more, event) => {
    lastEvent = event.lastEventId;
    add(more);
    redraw();
    showRows();
  });
  on("state", showState);
  on("pages", pages => put(at("pages"), `Pages: ${pages.open} open, ${pages.refused} refused, ${pages.cutOff} cut off as too slow.`));
  on("end", result => {
    events.close();
    showEnd(result);
  });
  events.onerror = () => {
    if (ended) return;
    say("The tool cannot be reached, or serves too many pages already. Tries again.", "bad");
    if (events.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    events.close();
    setTimeout(listen, AGAIN_MILLIS);
  };
}

draw();
new ResizeObserver(() => drawn.forEach((one, i) => one.setSize({ width: at(PLOTS[i].id).clientWidth, height: 230 }))).observe(document.querySelector(".plots"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
at("rows").addEventListener("toggle", tableOfRows);
listen();
