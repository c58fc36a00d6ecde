// Makes elements. All text goes in as text: the policy of the page refuses markup from strings.

export const at = id => document.getElementById(id);

// An element with attributes and children; children that are strings become text.
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    made.setAttribute(attribute, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// Writes only what has changed, so that a screen reader and the browser have less to do.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function button(text, onPress, attributes = {}) {
  const made = make("button", {type: "button", ...attributes}, text);
  made.addEventListener("click", () => onPress(made));
  return made;
}

let fields = 0;

// A field with its label, of any element that can have one.
export function labelled(text, field) {
  field.id = field.id || "field-" + ++fields;
  return make("label", {for: field.id}, text, field);
}

export function flag(text, field) {
  field.id = field.id || "field-" + ++fields;
  return make("label", {for: field.id, class: "flag"}, field, text);
}

export function choice(values, attributes = {}) {
  return make("select", attributes, ...Object.entries(values).map(([value, title]) => make("option", {value}, title)));
}

export function textField(attributes = {}) {
  return make("input", {type: "text", autocomplete: "off", spellcheck: "false", ...attributes});
}

// A form whose fields are in a row; what it does is done here and never sent by the browser itself.
export function form(onSubmit, ...children) {
  const made = make("form", {class: "row"}, ...children);
  made.addEventListener("submit", event => {
    event.preventDefault();
    onSubmit();
  });
  return made;
}

// The identifier of a node, a range or a cluster, which is a UUID.
export const shortId = id => make("code", {title: id}, id.slice(0, 8));

// What a view says beside what it shows, such as which role something needs.
export const hint = text => make("p", {class: "soft"}, text);

// Names and values of one thing.
export function facts(pairs) {
  return make("dl", {class: "facts"}, ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

export function section(title, ...children) {
  const heading = make("h2", {id: "heading-" + ++fields}, title);
  return make("section", {"aria-labelledby": heading.id}, heading, ...children);
}

// A paragraph that is read out when its text changes.
export function notice(attributes = {}) {
  const made = make("p", {role: "status", ...attributes});
  return {
    element: made,
    show(text) {
      made.className = text ? "notice" : "";
      put(made, text);
    },
  };
}

// Columns have a title, a value of a row as a string or an element, and maybe numeric.
export function table(caption, columns) {
  const body = make("tbody");
  const kind = column => ({class: column.numeric ? "number" : undefined});
  const head = make("tr", {}, ...columns.map(column => make("th", {scope: "col", ...kind(column)}, column.title)));
  const made = make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
  const row = each => make("tr", {}, ...columns.map((column, i) => make(i ? "td" : "th", {...kind(column), scope: i ? undefined : "row"}, column.value(each))));
  return {
    element: make("div", {class: "wide", role: "region", "aria-label": caption, tabindex: "0"}, made),
    show: rows => body.replaceChildren(...rows.map(row)),
  };
}

// Says in the status line what was done, or in the alert why not.
export function say(text) {
  put(at("trouble"), "");
  put(at("done"), text);
}

export function complain(error) {
  if (error.name === "AbortError") return;
  put(at("done"), "");
  put(at("trouble"), error.message);
}

// Asks before something is done that cannot be undone; with a name, only who has typed it can say yes.
export function ask(text, yes, name = "") {
  const dialog = at("question");
  const typed = at("question-name");
  const closed = new AbortController();
  const check = () => {
    at("question-yes").disabled = typed.value !== name;
  };
  put(at("question-text"), text);
  put(at("question-yes"), yes);
  at("question-typed").hidden = name === "";
  typed.value = "";
  typed.addEventListener("input", check, {signal: closed.signal});
  check();
  dialog.returnValue = "no";
  dialog.showModal();
  (name ? typed : at("question-no")).focus();
  return new Promise(resolve => dialog.addEventListener("close", () => {
    closed.abort();
    resolve(dialog.returnValue === "yes");
  }, {once: true}));
}
