// Tables of many rows, of which only a page is in the document.

import {all, get} from "./api.js";
import {button, complain, form, labelled, make, put, table, textField} from "./dom.js";
import {number} from "./text.js";

const ROWS = 100;

function pager(onBack, onNext) {
  const back = button("Previous page", onBack, {disabled: true});
  const next = button("Next page", onNext, {disabled: true});
  const where = make("span", {role: "status"});
  return {
    element: make("p", {class: "row"}, back, next, where),
    show(text, hasBack, hasNext) {
      back.disabled = !hasBack;
      next.disabled = !hasNext;
      put(where, text);
    },
  };
}

// A listing that the node filters by the beginning of names and cuts into pages: sessions, retained messages. What one page shows is all
// that is kept, and the cursors of the pages before it.
//
// fields: further parameters of the query by name, as inputs
export function remote({path, caption, columns, prefixLabel, fields = {}, signal}) {
  const prefix = textField();
  const rows = table(caption, columns);
  let cursors = [""];
  let next = "";
  let asked = 0;
  let query = {};
  const turn = pager(() => {
    cursors.pop();
    again();
  }, () => {
    cursors.push(next);
    again();
  });
  const filter = form(reload, labelled(prefixLabel, prefix), ...Object.values(fields).map(field => field.label), make("button", {}, "Show"));

  async function load() {
    const mine = ++asked;
    const page = await get(path, {...query, limit: ROWS, cursor: cursors.at(-1)}, signal);
    if (mine !== asked) return; // something else was asked for since
    next = page.next;
    rows.show(page.items);
    const first = (cursors.length - 1) * ROWS;
    const shown = page.items.length ? number(first + 1) + " to " + number(first + page.items.length) : first ? "no further ones" : "none";
    turn.show(shown, cursors.length > 1, next !== "");
  }

  const again = () => load().catch(complain);

  // The first page of what the fields say now.
  function reload() {
    cursors = [""];
    query = {prefix: prefix.value};
    for (const [name, field] of Object.entries(fields)) query[name] = field.input.value;
    again();
  }

  return {element: make("div", {}, filter, rows.element, turn.element), reload, again};
}

// A listing that is small enough to be fetched whole, and is filtered here: settings, ranges, nodes.
//
// text: what the filter looks for in a row, in lower case
export function local({path, query = {}, caption, columns, filterLabel, text, signal}) {
  const search = textField();
  const rows = table(caption, columns);
  let fetched = [];
  let more = false;
  let first = 0;
  const turn = pager(() => show(first - ROWS), () => show(first + ROWS));

  function show(from) {
    const wanted = search.value.toLowerCase();
    const found = fetched.filter(row => text(row).toLowerCase().includes(wanted));
    first = from;
    rows.show(found.slice(first, first + ROWS));
    const last = Math.min(first + ROWS, found.length);
    const of = number(found.length) + (more ? " of the first " + number(fetched.length) : "");
    turn.show(found.length ? number(first + 1) + " to " + number(last) + " of " + of : "none", first > 0, last < found.length);
  }

  async function fetchAll() {
    const answer = await all(path, query, signal);
    fetched = answer.rows;
    more = answer.more;
    show(0);
  }

  const reload = () => fetchAll().catch(complain);
  search.addEventListener("input", () => show(0));
  const filter = make("div", {class: "row"}, labelled(filterLabel, search), button("Refresh", reload));
  return {element: make("div", {}, filter, rows.element, turn.element), reload};
}
