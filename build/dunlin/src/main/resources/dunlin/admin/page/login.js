// Asks for a token, or an operator's name and password, and finds out what it may do.

import {credentials, get} from "./api.js";
import {at, put} from "./dom.js";

const shownOnly = id => {
  for (const each of ["sign-in", "signed-in"]) at(each).hidden = each !== id;
  at("who").hidden = id !== "signed-in";
};

// Shows the form, with the reason why it is asked for.
export function askForCredentials(reason) {
  credentials.forget();
  shownOnly("sign-in");
  put(at("sign-in-trouble"), reason);
  put(at("node"), "");
  document.title = "Sign in – Dunlin";
  at("token").focus();
}

// Answers with the status, which has the role; the form stays when the credentials are not valid.
export async function signIn() {
  const status = await get("/status");
  put(at("node"), "node " + status.node.slice(0, 8) + ", version " + status.version);
  put(at("role"), status.role);
  shownOnly("signed-in");
  return status;
}

export function whenCredentialsAreGiven(then) {
  at("sign-in").addEventListener("submit", event => {
    event.preventDefault();
    const name = at("operator").value.trim();
    if (name) credentials.setPassword(name, at("token").value);
    else credentials.setToken(at("token").value.trim());
    at("operator").value = "";
    at("token").value = "";
    then();
  });
}
