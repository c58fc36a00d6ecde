// Tables of many rows, of which only a page is in the document.

import {all, get} from "./api.js";
import {button, complain, form, labelled, make, notice, put, table, textField} from "./dom.js";
import {number} from "./text.js";

const ROWS = 100;

// Where the last rows are.
const END = -1;

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

const missing = unanswered => unanswered.length ? "Rows are missing: " + unanswered.join("; ") + "." : "";

// A listing that the node filters and cuts into pages: clients, sessions, retained messages. What one page shows is all that is kept, and the
// cursors of the pages before it.
//
// path: a function when it depends on fields
// prefixLabel: where names can be filtered by their beginning
// fields: further parameters of the query by name, as inputs; those without a label are set by the caller
// onReload: called when its reader asks for other rows
export function remote({path, query: fixed = {}, caption, columns, prefixLabel = "", fields = {}, onReload = () => {}, signal}) {
  const prefix = textField();
  const rows = table(caption, columns);
  const lost = notice();
  let cursors = [""];
  let next = "";
  let asked = 0;
  let from = "";
  let query = {};
  const turn = pager(() => {
    cursors.pop();
    again();
  }, () => {
    cursors.push(next);
    again();
  });
  const labels = [...prefixLabel ? [labelled(prefixLabel, prefix)] : [], ...Object.values(fields).map(field => field.label).filter(label => label)];
  const filter = form(() => {
    reload();
    onReload();
  }, ...labels, make("button", {}, labels.length ? "Show" : "Refresh"));

  async function load() {
    const mine = ++asked;
    const page = await get(from, {...query, limit: ROWS, cursor: cursors.at(-1)}, signal);
    if (mine !== asked) return; // something else was asked for since
    next = page.next;
    rows.show(page.items);
    lost.show(missing(page.unanswered));
    const first = (cursors.length - 1) * ROWS;
    const shown = page.items.length ? number(first + 1) + " to " + number(first + page.items.length) : first ? "no further ones" : "none";
    turn.show(shown, cursors.length > 1, next !== "");
  }

  const again = () => load().catch(complain);

  // The first page of what the fields say now.
  function reload() {
    cursors = [""];
    from = typeof path === "function" ? path() : path;
    query = {...fixed, prefix: prefix.value};
    for (const [name, field] of Object.entries(fields)) query[name] = field.input.value;
    again();
  }

  return {element: make("div", {}, filter, lost.element, rows.element, turn.element), reload, again};
}

// Rows that are all here, and are filtered here.
//
// text: what the filter looks for in a row, in lower case
export function paged({caption, columns, filterLabel, text}, ...beside) {
  const search = textField();
  const rows = table(caption, columns);
  let all = [];
  let found = [];
  let more = false;
  let first = 0;
  const turn = pager(() => show(Math.max(0, first - ROWS)), () => show(first + ROWS));

  function show(from) {
    const wanted = search.value.toLowerCase();
    found = all.filter(row => text(row).toLowerCase().includes(wanted));
    first = from === END ? Math.max(0, found.length - ROWS) : from;
    rows.show(found.slice(first, first + ROWS));
    const last = Math.min(first + ROWS, found.length);
    const of = number(found.length) + (more ? " of the first " + number(all.length) : "");
    turn.show(found.length ? number(first + 1) + " to " + number(last) + " of " + of : "none", first > 0, last < found.length);
  }

  search.addEventListener("input", () => show(0));
  return {
    element: make("div", {}, make("div", {class: "row"}, labelled(filterLabel, search), ...beside), rows.element, turn.element),
    set(newest, hasMore) {
      all = newest;
      more = hasMore;
      show(0);
    },
    // The end stays in sight, unless the reader has turned to an earlier page.
    append(newest) {
      const atEnd = first + ROWS >= found.length;
      all = newest;
      show(atEnd ? END : first);
    },
  };
}

// A listing that is small enough to be fetched whole: settings, ranges, nodes.
export function local({path, query = {}, signal, ...shown}) {
  const lost = notice();
  const rows = paged(shown, button("Refresh", reload));

  async function fetchAll() {
    const answer = await all(path, query, signal);
    rows.set(answer.rows, answer.more);
    lost.show(missing(answer.unanswered));
  }

  function reload() {
    fetchAll().catch(complain);
  }

  return {element: make("div", {}, lost.element, rows.element), reload};
}
