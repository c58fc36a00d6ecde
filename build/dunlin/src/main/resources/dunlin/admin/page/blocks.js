// Blocks: what this node refuses for a while by itself.

import {call, mayDo, segment} from "./api.js";
import {tenantField} from "./clients.js";
import {ask, button, choice, complain, hint, labelled, make, say} from "./dom.js";
import {remote} from "./listing.js";
import {moment, shortened} from "./text.js";

const KINDS = {client: "client identifiers", address: "addresses and networks"};

export function blocks({root, role, signal}) {
  const kinds = choice(KINDS, {id: "block-kind"});
  const tenants = tenantField();
  const listing = remote({
    path: () => "/blocks/" + kinds.value,
    caption: "Blocks of this node, in the order of what is blocked",
    fields: {tenant: tenants},
    signal,
    columns: [
      {title: "blocked", value: row => make("bdi", {}, shortened(row.value))},
      {title: "until", value: row => moment(row.until)},
      {title: "reason", value: row => make("bdi", {}, shortened(row.reason, 300))},
      ...mayDo(role, "operator") ? [{title: "change", value: row => button("End the block", () => end(row).catch(complain), {"aria-label": "End the block of " + shortened(row.value)})}] : [],
    ],
  });

  async function end(row) {
    if (!await ask("End the block of " + shortened(row.value) + "? It may connect again, and is counted anew.", "End the block")) return;
    await call("DELETE", "/blocks/" + row.kind + "/" + segment(row.value), {query: {tenant: row.tenant}, signal});
    say("The block has ended.");
    listing.again();
  }

  // The tenant is of clients only.
  function show() {
    tenants.label.hidden = kinds.value !== "client";
    listing.reload();
  }

  kinds.addEventListener("change", show);
  root.append(
    hint("A node blocks an address after failed authentications, and a client identifier after too many connects. A block counts on this node and ends by itself."),
    make("div", {class: "row"}, labelled("Blocks of", kinds)), listing.element,
    ...mayDo(role, "operator") ? [] : [hint("To end a block needs the role operator.")]);
  show();
}
