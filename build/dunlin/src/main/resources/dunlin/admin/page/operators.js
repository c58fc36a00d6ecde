// Operators: who signs in to the API and the page of all nodes with a name and a password.

import {deleting, editor} from "./access.js";
import {call, get, mayDo, Refusal, segment} from "./api.js";
import {ask, choice, hint, labelled, make, textField} from "./dom.js";
import {remote} from "./listing.js";
import {shortened, visible} from "./text.js";

const PASSWORD_MIN = 12;
const PASSWORD_MAX = 128;
const OPERATORS_MAX = 1000;
const ROLES = {viewer: "viewer", operator: "operator", admin: "admin"};

export function operators({root, role, signal}) {
  if (!mayDo(role, "admin")) {
    root.append(hint("To see operators needs the role admin."));
    return;
  }
  const name = textField({id: "operator-name", required: true, maxlength: "64", autocapitalize: "none"});
  const password = make("input", {id: "operator-password", type: "password", autocomplete: "new-password", required: true, minlength: String(PASSWORD_MIN), maxlength: String(PASSWORD_MAX)});
  const roles = choice(ROLES, {id: "operator-role"});
  const listing = remote({
    path: "/operators",
    caption: "Operators of all nodes, in the order of their names",
    signal,
    columns: [
      {title: "operator", value: row => visible(row.name)},
      {title: "role", value: row => row.role},
      {title: "change", value: row => make("span", {}, editing.change(row), " ",
        deleting(row, "Delete the operator " + shortened(row.name) + "? The operator is signed out.", "/operators/", listing.again, signal))},
    ],
  });
  const editing = editor({
    what: "operator",
    name,
    fields: [labelled("Name", name), labelled("New password, of " + PASSWORD_MIN + " to " + PASSWORD_MAX + " characters", password), labelled("Role", roles)],
    fill(row) {
      password.value = "";
      roles.value = row ? row.role : "viewer";
    },
    // Operators have no versions, so it is looked here whether a new one would replace one that is there.
    async save(_, row) {
      const present = row ? [] : (await get("/operators", {limit: OPERATORS_MAX}, signal)).items;
      if (present.some(each => each.name === name.value)) throw new Refusal(409, "There is an operator of this name; choose Change beside it.");
      if (row && !await ask("Change role and password of " + shortened(row.name) + "? The present password is not valid any more.", "Change the operator")) return "";
      await call("PUT", "/operators/" + segment(name.value), {body: {role: roles.value, newPassword: password.value}, signal});
      return "The operator was saved.";
    },
    after: listing.again,
  });
  root.append(listing.element, editing.element);
  listing.reload();
}
