// Asks for a token, and finds out what it may do.

import {get, token} from "./api.js";
import {at, put} from "./dom.js";

const shownOnly = id => {
  for (const each of ["sign-in", "signed-in"]) at(each).hidden = each !== id;
  at("who").hidden = id !== "signed-in";
};

// Shows the form, with the reason why it is asked for.
export function askForToken(reason) {
  token.forget();
  shownOnly("sign-in");
  put(at("sign-in-trouble"), reason);
  put(at("node"), "");
  document.title = "Sign in – Dunlin";
  at("token").focus();
}

// Answers with the status, which has the role; the form stays when the token is not valid.
export async function signIn() {
  const status = await get("/status");
  put(at("node"), "node " + status.node.slice(0, 8) + ", version " + status.version);
  put(at("role"), status.role);
  shownOnly("signed-in");
  return status;
}

export function whenTokenIsGiven(then) {
  at("sign-in").addEventListener("submit", event => {
    event.preventDefault();
    token.set(at("token").value.trim());
    at("token").value = "";
    then();
  });
}
