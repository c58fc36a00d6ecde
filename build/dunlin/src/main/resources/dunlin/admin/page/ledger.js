// The loss ledger: what has become of all messages at each hop, beside the traces, which say it of some.

import {all} from "./api.js";
import {button, complain, flag, hint, make, notice, section, shortId, table} from "./dom.js";
import {number, visible} from "./text.js";

const counted = value => value < 0 ? "–" : number(value);

function reasons(row) {
  return Object.entries(row.reasons).map(([reason, messages]) => visible(reason) + " " + number(messages)).join(", ");
}

export function ledger(signal) {
  const everywhere = make("input", {id: "ledger-of-all", type: "checkbox"});
  const lost = notice();
  const rows = table("Messages at each hop since the node started", [
    {title: "hop", value: row => row.hop},
    {title: "node", value: row => shortId(row.node)},
    {title: "received", numeric: true, value: row => counted(row.received)},
    {title: "delivered", numeric: true, value: row => counted(row.delivered)},
    {title: "unmatched", numeric: true, value: row => counted(row.unmatched)},
    {title: "returned", numeric: true, value: row => counted(row.returned)},
    {title: "dropped", numeric: true, value: row => make("span", {class: row.dropped > 0 ? "bad" : ""}, number(row.dropped))},
    {title: "in flight", numeric: true, value: row => counted(row.inFlight)},
    {title: "dropped by reason", value: reasons},
  ]);
  let asked = 0;

  async function load() {
    const mine = ++asked;
    const answer = await all("/ledger", {all: everywhere.checked ? "true" : ""}, signal);
    if (mine !== asked) return; // all nodes or this one was chosen since
    rows.show(answer.rows);
    lost.show(answer.unanswered.length ? "Hops are missing: " + answer.unanswered.join("; ") + "." : "");
  }

  const reload = () => load().catch(complain);
  everywhere.addEventListener("change", reload);
  return {
    element: section("Loss ledger", hint("Received is delivered, unmatched, returned, dropped and in flight together. A hop that counts only what it drops has a dash."),
      make("div", {class: "row"}, flag("all nodes of the cluster", everywhere), button("Read again", reload, {id: "read-ledger"})), lost.element, make("div", {id: "ledger"}, rows.element)),
    reload,
  };
}
