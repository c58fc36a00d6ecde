// Users, their roles, and bans, where the node has them.

import {call, mayDo, segment} from "./api.js";
import {ask, button, choice, complain, flag, form, hint, labelled, make, put, say, section, textField} from "./dom.js";
import {remote} from "./listing.js";
import {moment, number, shortened, visible} from "./text.js";

const KINDS = {client: "client identifier", user: "user name", address: "address or network"};
const BAN_SECONDS = {0: "without an end", 600: "10 minutes", 3600: "an hour", 86400: "a day", 2592000: "30 days"};

const bdi = text => make("bdi", {}, shortened(text));

// A form that makes a new row, or changes the one that was chosen if it still has the version that was shown.
//
// fill: puts a row into the fields, or null for a new one
// save: gets what the version must be, and the row or null; answers what was done, or nothing
export function editor({what, name, fields, fill, save, after}) {
  const heading = make("p", {id: "editor-state", role: "status"});
  const cancel = button("Cancel", () => begin(null));
  let chosen = null;

  function begin(row) {
    chosen = row;
    name.value = row ? row.name : "";
    name.readOnly = row !== null;
    cancel.hidden = row === null;
    put(heading, row ? "Changes the " + what + " " + shortened(row.name) + "." : "Makes a new " + what + ".");
    fill(row);
  }

  async function submit() {
    const done = await save(chosen ? chosen.version : 0, chosen);
    if (!done) return;
    say(done);
    begin(null);
    after();
  }

  begin(null);
  return {
    element: section("Change", heading, form(() => submit().catch(complain), ...fields, make("button", {id: "save"}, "Save"), cancel)),
    change: row => button("Change", () => {
      begin(row);
      fields[0].scrollIntoView({block: "nearest"});
      fields[1].querySelector("input, textarea").focus();
    }, {"aria-label": "Change " + shortened(row.name)}),
  };
}

export function deleting(row, question, path, after, signal) {
  async function remove() {
    if (!await ask(question, "Delete")) return;
    await call("DELETE", path + segment(row.name), {query: {expectedVersion: row.version}, signal});
    say(visible(row.name) + " was deleted.");
    after();
  }
  return button("Delete", () => remove().catch(complain), {class: "grave", "aria-label": "Delete " + shortened(row.name)});
}

export function users({root, role, signal}) {
  const admin = mayDo(role, "admin");
  const name = textField({id: "user", required: true});
  const password = make("input", {id: "password", type: "password", autocomplete: "new-password", maxlength: "1024"});
  const roles = textField({id: "roles"});
  const disabled = make("input", {id: "disabled", type: "checkbox"});
  const listing = remote({
    path: "/users",
    caption: "Users, in the order of their names",
    signal,
    columns: [
      {title: "user", value: row => bdi(row.name)},
      {title: "password", value: row => row.password ? "yes" : "none"},
      {title: "roles", value: row => visible(row.roles) || "none"},
      {title: "may connect", value: row => row.enabled ? "yes" : make("span", {class: "bad"}, "no")},
      ...admin ? [{title: "change", value: row => make("span", {}, editing.change(row), " ",
        deleting(row, "Delete the user " + shortened(row.name) + ", and disconnect its clients?", "/users/", listing.again, signal))}] : [],
    ],
  });
  const editing = editor({
    what: "user",
    name,
    fields: [labelled("Name", name), labelled("Password, empty to keep the present one", password), labelled("Roles, with commas between them", roles), flag("may not connect", disabled)],
    fill(row) {
      password.value = "";
      roles.value = row ? row.roles : "";
      disabled.checked = row !== null && !row.enabled;
    },
    async save(expectedVersion, row) {
      if (disabled.checked && row?.enabled && !await ask("Refuse the user " + shortened(row.name) + ", and disconnect its clients?", "Refuse the user")) return "";
      const body = {roles: roles.value, disabled: disabled.checked, expectedVersion};
      if (password.value) body.password = password.value;
      await call("PUT", "/users/" + segment(name.value), {body, signal});
      return "The user was saved.";
    },
    after: listing.again,
  });
  root.append(listing.element, admin ? editing.element : hint("To change users needs the role admin."));
  listing.reload();
}

export function roles({root, role, signal}) {
  const admin = mayDo(role, "admin");
  const name = textField({id: "role-name", required: true});
  const rules = make("textarea", {id: "rules", spellcheck: "false", maxlength: "65536"});
  const listing = remote({
    path: "/roles",
    caption: "Roles of users, in the order of their names",
    signal,
    columns: [
      {title: "role", value: row => bdi(row.name)},
      {title: "users", numeric: true, value: row => number(row.users)},
      {title: "rules", value: row => make("div", {class: "bytes", tabindex: "0", role: "region", "aria-label": "Rules of " + shortened(row.name)}, row.rules.split("\n").map(visible).join("\n"))},
      ...admin ? [{title: "change", value: row => make("span", {}, editing.change(row), " ",
        deleting(row, "Delete the role " + shortened(row.name) + "?", "/roles/", listing.again, signal))}] : [],
    ],
  });
  const editing = editor({
    what: "role",
    name,
    fields: [labelled("Name", name), make("div", {class: "wide"}, labelled("Rules, one in each line, such as allow publish devices/%c/up", rules))],
    fill(row) {
      rules.value = row ? row.rules : "";
    },
    async save(expectedVersion) {
      await call("PUT", "/roles/" + segment(name.value), {body: {rules: rules.value, expectedVersion}, signal});
      return "The role was saved. Its rules count for connected clients, too.";
    },
    after: listing.again,
  });
  root.append(listing.element, admin ? editing.element : hint("To change roles needs the role admin."));
  listing.reload();
}

function banning(kind, value, after, signal) {
  const kinds = choice(KINDS, {id: "banned-kind"});
  const banned = textField({id: "banned", required: true, value, maxlength: "65535"});
  const seconds = choice(BAN_SECONDS, {id: "ban-seconds"});
  const reason = textField({id: "ban-reason"});
  kinds.value = kind;

  async function ban() {
    const named = KINDS[kinds.value] + " " + shortened(banned.value);
    if (!await ask("Ban the " + named + ", and disconnect its clients?", "Ban")) return;
    const body = {seconds: Number(seconds.value), reason: reason.value};
    await call("PUT", "/bans/" + kinds.value + "/" + segment(banned.value), {body, signal});
    say("The " + named + " is banned.");
    banned.value = reason.value = "";
    after(kinds.value);
  }

  return section("Ban", form(() => ban().catch(complain), labelled("Kind", kinds), labelled("What is banned", banned), labelled("For", seconds), labelled("Reason, for operators", reason),
    make("button", {id: "ban", class: "grave"}, "Ban")));
}

export function bans({root, path: [kind, value = ""], role, signal}) {
  const operator = mayDo(role, "operator");
  const begun = Object.hasOwn(KINDS, kind ?? "") ? kind : "client";
  const kinds = choice(KINDS, {id: "ban-kind"});
  const listing = remote({
    path: () => "/bans/" + kinds.value,
    caption: "Bans of this kind, in the order of what is banned",
    signal,
    columns: [
      {title: "banned", value: row => bdi(row.value)},
      {title: "until", value: row => row.until ? moment(row.until) : "without an end"},
      {title: "reason", value: row => bdi(row.reason)},
      ...operator ? [{title: "change", value: row => button("End the ban", () => end(row).catch(complain), {"aria-label": "End the ban of " + shortened(row.value)})}] : [],
    ],
  });

  async function end(row) {
    if (!await ask("End the ban of " + shortened(row.value) + "? Its clients may connect again.", "End the ban")) return;
    await call("DELETE", "/bans/" + row.kind + "/" + segment(row.value), {query: {expectedVersion: row.version}, signal});
    say("The ban has ended.");
    listing.again();
  }

  function show(shown) {
    kinds.value = shown;
    listing.reload();
  }

  kinds.addEventListener("change", () => listing.reload());
  root.append(make("div", {class: "row"}, labelled("Bans of", kinds)), listing.element, operator ? banning(begun, value, show, signal) : hint("To ban needs the role operator."));
  show(begun);
}
