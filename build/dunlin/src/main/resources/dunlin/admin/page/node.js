// The node itself: its listeners and a drain, its settings, its log levels.

import {call, get, mayDo, segment} from "./api.js";
import {ask, button, complain, form, labelled, make, put, say, section, textField} from "./dom.js";
import {local} from "./listing.js";
import {moment, number} from "./text.js";

const DAY_MILLIS = 86400000;

// From here on a certificate is to be replaced, as in DunlinCertificateExpires.
const DAYS_LEFT_MIN = 14;

const LEVELS = ["INHERITED", "OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

function draining(role, signal) {
  const state = make("p", {id: "drain-state", role: "status"});
  const reference = textField();
  const pace = make("input", {type: "number", min: "1", max: "1000000", value: "100", required: true});
  const stopping = button("Stop the drain", () => stop().catch(complain), {id: "stop-drain"});
  const begin = form(() => start().catch(complain), labelled("Server for clients of MQTT 5; none for that of the settings", reference),
    labelled("Clients to disconnect, a second", pace), make("button", {class: "grave", id: "drain"}, "Drain"));

  async function load() {
    const status = await get("/status", {}, signal);
    put(state, status.draining ? "The node sends its clients away. " + number(status.connections) + " are left." : "The node serves clients.");
    begin.hidden = status.draining || !mayDo(role, "operator");
    stopping.hidden = !status.draining || !mayDo(role, "operator");
  }

  async function start() {
    if (!await ask("Send all clients of this node to another server? It becomes not ready.", "Drain")) return;
    await call("PUT", "/drain", {body: {serverReference: reference.value, connectionsPerSecond: Number(pace.value)}, signal});
    say("The drain has begun.");
    await load();
  }

  async function stop() {
    await call("DELETE", "/drain", {signal});
    say("The drain has ended.");
    await load();
  }

  load().catch(complain);
  const needed = mayDo(role, "operator") ? "" : "To drain needs the role operator.";
  return section("Drain", state, begin, make("p", {}, stopping), make("p", {class: "soft"}, needed));
}

function expires(at) {
  const days = Math.floor((new Date(at) - Date.now()) / DAY_MILLIS);
  const left = days < 0 ? "it has expired" : "in " + number(days) + (days === 1 ? " day" : " days");
  return make("span", {class: days < DAYS_LEFT_MIN ? "bad" : undefined}, moment(at) + ", " + left);
}

export function listeners({root, role, signal}) {
  const refused = row => Object.entries(row.refused).filter(([, count]) => count > 0).map(([reason, count]) => reason + ": " + number(count)).join(", ") || "none";
  const act = (row, title, action) => button(title, () => change(row, action).catch(complain), {"aria-label": title + " " + row.name, class: action === "close" ? "grave" : ""});
  const listing = local({
    path: "/listeners",
    caption: "Listeners",
    filterLabel: "Filter",
    text: row => row.name + " " + row.type + " " + row.address,
    signal,
    columns: [
      {title: "name", value: row => row.name},
      {title: "type", value: row => row.type},
      {title: "address", value: row => row.address},
      {title: "accepts", value: row => row.accepting ? make("span", {class: "good"}, "yes") : make("span", {class: "bad"}, "no")},
      {title: "connections", numeric: true, value: row => number(row.connections)},
      {title: "refused before MQTT", value: refused},
      {title: "certificate expires", value: row => row.certificateExpiry ? expires(row.certificateExpiry) : "–"},
      ...mayDo(role, "operator") ? [{title: "change", value: row => row.accepting ? act(row, "Close", "close") : act(row, "Open", "open")}] : [],
    ],
  });

  async function change(row, action) {
    if (action === "close" && !await ask("Let the listener " + row.name + " accept no new connections? Its clients stay connected.", "Close the listener")) return;
    await call("POST", "/listeners/" + segment(row.name) + "/" + action, {body: {}, signal});
    say(action === "close" ? "The listener accepts no new connections." : "The listener accepts connections again.");
    listing.reload();
  }

  root.append(listing.element, draining(role, signal));
  listing.reload();
}

export function settings({root, signal}) {
  const listing = local({
    path: "/settings",
    caption: "Settings in force; secrets are masked",
    filterLabel: "Filter by name, value or source",
    text: row => row.key + " " + row.value + " " + row.source,
    signal,
    columns: [
      {title: "setting", value: row => make("code", {}, row.key)},
      {title: "value", value: row => make("code", {}, row.value)},
      {title: "source", value: row => row.source},
    ],
  });
  root.append(listing.element);
  listing.reload();
}

export function loggers({root, role, signal}) {
  const choice = row => {
    const chosen = make("select", {"aria-label": "Level of " + row.name}, ...LEVELS.map(level => make("option", {selected: level === (row.level || "INHERITED")}, level)));
    chosen.addEventListener("change", () => set(row.name, chosen.value).catch(complain));
    return chosen;
  };
  const listing = local({
    path: "/loggers",
    caption: "Loggers; a level lasts until the process ends",
    filterLabel: "Filter by name or level",
    text: row => row.name + " " + row.effective,
    signal,
    columns: [
      {title: "logger", value: row => row.name},
      {title: "in force", value: row => row.effective},
      {title: "level", value: row => mayDo(role, "operator") ? choice(row) : row.level || "INHERITED"},
    ],
  });

  async function set(name, level) {
    const row = await call("PUT", "/loggers/" + segment(name), {body: {level}, signal});
    say("The level of " + row.name + " is " + row.effective + ".");
  }

  root.append(listing.element);
  listing.reload();
}
