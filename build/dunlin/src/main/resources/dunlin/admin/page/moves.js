// Changes where the replicas of a range are, and which of them leads.

import {all, call, segment} from "./api.js";
import {ask, button, choice, complain, form, hint, labelled, make, put, say, section, shortId} from "./dom.js";

const JOINED = "JOINED";

// What can be done, with the nodes that it can be done with.
const ACTIONS = {
  "add-replica": {title: "give it one more replica", to: (range, nodes) => nodes.filter(node => node.state === JOINED && !range.voters.includes(node.id))},
  "move-replica": {title: "move a replica", from: true, to: (range, nodes) => ACTIONS["add-replica"].to(range, nodes)},
  "replace-replica": {title: "create a damaged replica again", to: (range, nodes) => nodes.filter(node => range.voters.includes(node.id))},
  "transfer-leadership": {title: "let another node lead it", to: (range, nodes) => nodes.filter(node => range.voters.includes(node.id) && node.id !== range.leader)},
};

const named = node => node.id.slice(0, 8) + ", " + node.host;
const options = nodes => nodes.map(node => make("option", {value: node.id}, named(node)));

// Gives a button for each row of ranges, and the form that it opens. The nodes are those of the moment when it was pressed.
export function moves(after, signal) {
  const chosen = make("p", {id: "moved-range", role: "status"});
  const actions = choice(Object.fromEntries(Object.entries(ACTIONS).map(([action, {title}]) => [action, title])), {id: "move"});
  const from = make("select", {id: "move-from"});
  const to = make("select", {id: "move-to"});
  const fromLabel = labelled("From the node", from);
  const begin = make("button", {id: "move-begin", class: "grave"}, "Begin");
  const none = make("p", {id: "move-none", class: "soft", role: "status"});
  const fields = form(() => submit().catch(complain), labelled("What is done", actions), fromLabel, labelled("At the node", to), begin);
  let range = null;
  let nodes = [];
  fields.hidden = true;

  function show() {
    const action = ACTIONS[actions.value];
    fromLabel.hidden = !action.from;
    from.replaceChildren(...options(nodes.filter(node => range.voters.includes(node.id))));
    to.replaceChildren(...options(action.to(range, nodes)));
    begin.disabled = to.length === 0;
    put(none, begin.disabled ? "No node is there with which this can be done." : "");
  }

  async function choose(row) {
    nodes = (await all("/cluster/nodes", {}, signal)).rows;
    range = row;
    chosen.replaceChildren("Changes the range ", shortId(row.id), " (" + row.kind + ").");
    fields.hidden = false;
    show();
    fields.scrollIntoView({block: "nearest"});
    actions.focus();
  }

  async function submit() {
    const {title, from: leaves} = ACTIONS[actions.value];
    const text = "Of the range " + range.id.slice(0, 8) + ": " + title + (leaves ? " from " + from.selectedOptions[0].text : "") + ", at " + to.selectedOptions[0].text + "?";
    if (!await ask(text, "Begin")) return;
    const body = leaves ? {from: from.value, to: to.value} : {node: to.value};
    const {operation} = await call("POST", "/cluster/ranges/" + segment(range.id) + "/" + actions.value, {body, signal});
    say("The operation " + operation + " has begun.");
    after();
  }

  actions.addEventListener("change", show);
  return {
    element: section("Replicas of a range", hint("Choose a range above."), chosen, fields, none),
    change: row => button("Change", () => choose(row).catch(complain), {"aria-label": "Change replicas of " + row.id.slice(0, 8)}),
  };
}
