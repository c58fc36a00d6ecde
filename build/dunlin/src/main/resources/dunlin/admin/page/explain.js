// Why a client would get a message now, or not.

import {get} from "./api.js";
import {tenantField} from "./clients.js";
import {choice, complain, flag, form, hint, labelled, make, section, table, textField} from "./dom.js";
import {visible} from "./text.js";

const LOOKS = {passes: "good", stops: "bad", unknown: "soft"};

export function explain({root, path: [clientId = "", tenant], signal}) {
  const client = textField({id: "explained-client", required: true, value: clientId, maxlength: "65535"});
  const topic = textField({id: "explained-topic", required: true, maxlength: "65535"});
  const publisher = textField({maxlength: "65535"});
  const qos = choice({0: "0", 1: "1", 2: "2"});
  const retain = make("input", {type: "checkbox"});
  const size = make("input", {id: "explained-bytes", type: "number", min: "0", max: "2097152", value: "0", required: true});
  const expiry = make("input", {id: "explained-expiry", type: "number", min: "0", max: "4294967295"});
  const tenants = tenantField(tenant);
  const conclusion = make("p", {id: "conclusion", role: "status"});
  const steps = table("The steps of the message, up to the one that stops it", [
    {title: "step", value: row => row.step},
    {title: "outcome", value: row => make("span", {class: LOOKS[row.outcome]}, row.outcome)},
    {title: "finding", value: row => make("bdi", {}, visible(row.finding))},
  ]);
  const result = section("What would happen", conclusion, steps.element);
  result.hidden = true;
  qos.value = "1";

  async function show() {
    result.hidden = true;
    const query = {client: client.value, topic: topic.value, publisher: publisher.value, qos: qos.value, retain: retain.checked, bytes: size.value, expiry: expiry.value, tenant: tenants.input.value};
    const answer = await get("/explain", query, signal);
    steps.show(answer.steps);
    result.hidden = false;
    conclusion.replaceChildren(make("strong", {}, answer.conclusion), ": ", make("bdi", {}, visible(answer.reason)));
  }

  root.append(
    hint("Says what would happen now to a message. Nothing is published."),
    form(() => show().catch(complain), labelled("Client that should get it", client), labelled("Topic", topic), labelled("Publisher, empty for the node", publisher),
      labelled("QoS", qos), labelled("Bytes of its payload", size), labelled("Expires after seconds, empty for never", expiry), tenants.label, flag("retain", retain), make("button", {id: "explain"}, "Explain")),
    result);
}
