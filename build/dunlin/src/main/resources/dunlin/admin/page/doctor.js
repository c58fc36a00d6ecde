// The doctor: what is wrong around this node, or around all nodes, and what mends it.

import {get} from "./api.js";
import {button, complain, flag, make, notice, put, shortId, table} from "./dom.js";
import {number, visible} from "./text.js";

const LOOKS = {ok: "good", warning: "bad", wrong: "bad"};
const WORST_FIRST = ["wrong", "warning", "unknown", "ok"];

const rank = row => WORST_FIRST.indexOf(row.verdict);

function summary(rows) {
  const counts = WORST_FIRST.map(verdict => [verdict, rows.filter(row => row.verdict === verdict).length]).filter(([, count]) => count > 0);
  return number(rows.length) + " checks: " + counts.map(([verdict, count]) => number(count) + " " + verdict).join(", ") + ".";
}

export function doctor({root, signal}) {
  const everywhere = make("input", {id: "all-nodes", type: "checkbox"});
  const state = make("p", {id: "doctor-state", role: "status"});
  const lost = notice();
  const again = button("Examine again", () => examine().catch(complain), {id: "examine"});
  const findings = table("What was found, the worst first", [
    {title: "check", value: row => visible(row.check)},
    {title: "node", value: row => shortId(row.node)},
    {title: "verdict", value: row => make("span", {class: LOOKS[row.verdict]}, row.verdict)},
    {title: "finding", value: row => make("bdi", {}, visible(row.finding))},
    {title: "what to do", value: row => make("bdi", {}, visible(row.remedy))},
  ]);
  let asked = 0;

  async function examine() {
    const mine = ++asked;
    put(state, "It looks.");
    again.disabled = true;
    try {
      const answer = await get("/doctor", {all: everywhere.checked ? "true" : "", limit: 1000}, signal);
      if (mine !== asked) return; // another examination has begun since
      findings.show(answer.items.toSorted((one, other) => rank(one) - rank(other)));
      lost.show(answer.unanswered.length ? "Findings are missing: " + answer.unanswered.join("; ") + "." : "");
      put(state, summary(answer.items));
    } catch (error) {
      if (mine === asked) put(state, "");
      throw error;
    } finally {
      if (mine === asked) again.disabled = false;
    }
  }

  everywhere.addEventListener("change", () => examine().catch(complain));
  root.append(make("div", {class: "row"}, flag("all nodes of the cluster", everywhere), again), state, lost.element, findings.element);
  examine().catch(complain);
}
