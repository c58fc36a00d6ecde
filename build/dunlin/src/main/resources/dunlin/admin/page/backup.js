// Backups that this node makes: the last one, how far it is, and a new one.

import {call, get, mayDo, pause, segment} from "./api.js";
import {ask, button, complain, facts, form, hint, labelled, make, put, say, section, textField} from "./dom.js";
import {bytes, moment, number, visible} from "./text.js";

const LOOK_MILLIS = 2000;

const LOOKS = {complete: "good", failed: "bad", cancelled: "bad"};

function details(row) {
  return facts([
    ["Backup", visible(row.name)],
    ["State", make("span", {class: LOOKS[row.state]}, row.state + (row.problem ? ": " + visible(row.problem) : ""))],
    ["Ranges", number(row.rangesDone) + " of " + number(row.ranges) + ", " + bytes(row.bytes)],
    ["Begun", moment(row.started)],
    ["Ended", row.ended ? moment(row.ended) : "not yet"],
    ...row.path ? [["Where it is", make("code", {}, visible(row.path))]] : [],
  ]);
}

export function backup(role, signal) {
  const admin = mayDo(role, "admin");
  const state = make("p", {id: "backup-state", role: "status"});
  const shown = make("div", {id: "backup"});
  const name = textField({id: "backup-name", required: true, maxlength: "64", pattern: "[A-Za-z0-9_\\-][A-Za-z0-9._\\-]*"});
  const beginning = form(() => start().catch(complain), labelled("Name, which its directory gets", name), make("button", {id: "backup-start"}, "Begin a backup"));
  const cancelling = button("Cancel the backup", () => cancel().catch(complain), {id: "backup-cancel", class: "grave"});
  let asked = 0;
  beginning.hidden = cancelling.hidden = true;

  // Shows it until it has ended.
  async function follow() {
    for (const mine = ++asked; mine === asked;) {
      const row = await get("/backup", {}, signal);
      if (mine !== asked) return;
      const running = row.state === "running";
      put(state, row.state === "none" ? "This node has made no backup since its start." : "The last backup of this node: " + row.state + ".");
      shown.replaceChildren(row.state === "none" ? "" : details(row));
      beginning.hidden = running || !admin;
      cancelling.hidden = !running || !admin;
      if (!running) return;
      await pause(LOOK_MILLIS, signal);
    }
  }

  async function start() {
    await call("POST", "/backup/" + segment(name.value), {body: {}, signal});
    say("The backup has begun.");
    name.value = "";
    await follow();
  }

  async function cancel() {
    if (!await ask("Cancel the backup? Nothing of it is left.", "Cancel the backup")) return;
    await call("DELETE", "/backup", {signal});
    say("The backup is being cancelled.");
    await follow();
  }

  // A node without a store makes none, which is no trouble.
  follow().catch(error => error.status === 409 ? put(state, error.message) : complain(error));
  return section("Backup", state, shown, beginning, make("p", {class: "row"}, cancelling), admin ? "" : hint("To make a backup needs the role admin."));
}
