package dunlin.interop;

import dunlin.interop.Client.Options;
import dunlin.interop.Message.Pair;
import dunlin.interop.Message.Properties;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The steps of build/interop/README.md, for any client. */
final class Scenario {
  private static final String FENCE = "fence";

  private final Connector connector;
  private final boolean mqtt5;
  private final boolean presenceKnown;
  private final String root;

  /** Opens connections through one client, for one version and transport. */
  interface Connector {
    Client open(Options options) throws Exception;
  }

  /** A step. */
  interface Step {
    void run() throws Exception;
  }

  Scenario(Connector connector, String client, String version) {
    this.connector = connector;
    this.mqtt5 = version.equals("5");
    this.presenceKnown = !version.equals("3.1"); // whose CONNACK has no flag for it
    this.root = "interop/" + client + "/" + newId();
  }

  Map<String, Step> steps() {
    Map<String, Step> steps = new LinkedHashMap<>();
    steps.put("connect", () -> open().end());
    steps.put("round-trip", this::roundTrip);
    steps.put("unicode-topic", this::unicodeTopic);
    steps.put("large-payload", this::largePayload);
    steps.put("retained", this::retained);
    steps.put("will", this::will);
    steps.put("session", this::session);
    if (mqtt5) {
      steps.put("user-properties", this::userProperties);
      steps.put("expiry", this::expiry);
      steps.put("subscription-identifier", this::subscriptionIdentifier);
      steps.put("topic-alias", this::topicAlias);
      steps.put("shared-subscription", this::sharedSubscription);
      steps.put("request-response", this::requestResponse);
    }
    return steps;
  }

  private static String newId() {
    return "j" + UUID.randomUUID().toString().replace("-", "").substring(0, 16);
  }

  private Client open() throws Exception {
    return connector.open(new Options(newId(), false, ""));
  }

  /** Makes a round trip: what was sent before the broker answers it has come. */
  private static void nothingBefore(Client client, String topic) throws Exception {
    client.subscribe(topic + "/fence", 0);
    client.publish(Message.of(topic + "/fence", FENCE, 0));
    Check.same(client.next().text(), FENCE, "a message that should not come");
  }

  private void roundTrip() throws Exception {
    Client client = open();
    String topic = root + "/round-trip";
    client.subscribe(topic + "/+", 2);
    for (int qos = 0; qos < 3; qos++) {
      for (int i = 0; i < 20; i++) client.publish(Message.of(topic + "/" + qos, "" + i, qos));
      for (int i = 0; i < 20; i++) {
        Message got = client.next();
        Check.same(got.qos() + " " + got.text() + " " + got.retained(), qos + " " + i + " false", "message");
      }
    }
    client.end();
  }

  private void unicodeTopic() throws Exception {
    Client client = open();
    String topic = root + "/Grüße/日本語" + (client.takesAllCharacters() ? "/🦆" : "");
    client.subscribe(topic, 2);
    client.publish(Message.of(topic, "Ente 🦆", 1));
    Message got = client.next();
    Check.same(got.topic() + got.text(), topic + "Ente 🦆", "message");
    client.end();
  }

  private void largePayload() throws Exception {
    Client client = open();
    String topic = root + "/large";
    byte[] payload = new byte[500_000];
    for (int i = 0; i < payload.length; i++) payload[i] = (byte) (i * 31 % 251);
    client.subscribe(topic, 2);
    for (int qos = 0; qos < 3; qos++) {
      client.publish(new Message(topic, payload, qos, false, Properties.NONE));
      Check.that(Arrays.equals(client.next().payload(), payload), "the payload of QoS " + qos + " has changed");
    }
    client.end();
  }

  private void retained() throws Exception {
    Client client = open();
    String topic = root + "/retained";
    client.publish(Message.of(topic, "kept", 1).retain());
    client.subscribe(topic, 2);
    Message got = client.next();
    Check.same(got.text() + got.retained(), "kepttrue", "retained message");
    client.publish(Message.of(topic, "live", 2).retain());
    got = client.next();
    Check.same(got.text() + got.retained(), "livefalse", "live message");
    client.publish(Message.of(topic, "", 1).retain());
    Check.same(client.next().text(), "", "removal");
    Client late = open();
    late.subscribe(topic, 2);
    nothingBefore(late, topic);
    late.end();
    client.end();
  }

  private void will() throws Exception {
    Client watcher = open();
    String topic = root + "/will";
    watcher.subscribe(topic, 2);
    connector.open(new Options(newId(), false, topic)).lose();
    Check.same(watcher.next().text(), "gone", "will");
    connector.open(new Options(newId(), false, topic)).end();
    nothingBefore(watcher, topic);
    watcher.end();
  }

  private void session() throws Exception {
    Client sender = open();
    String topic = root + "/session";
    String clientId = newId();
    Client first = connector.open(new Options(clientId, true, ""));
    Check.that(!first.sessionPresent(), "a session that nobody opened");
    first.subscribe(topic, 2);
    first.end();
    for (int i = 0; i < 30; i++) sender.publish(Message.of(topic, "" + i, 1 + i % 2));
    Client again = connector.open(new Options(clientId, true, ""));
    Check.that(again.sessionPresent() || !presenceKnown, "no session present");
    List<Message> got = new ArrayList<>();
    for (int i = 0; i < 30; i++) got.add(again.next());
    for (int qos = 1; qos < 3; qos++) { // order holds for messages of one QoS
      int of = qos;
      Check.same(
          got.stream().filter(message -> message.qos() == of).map(Message::text).toList(),
          IntStream.range(0, 30).filter(i -> 1 + i % 2 == of).mapToObj(i -> "" + i).toList(),
          "queued messages of QoS " + qos);
    }
    again.end();
    Client fresh = connector.open(new Options(clientId, false, ""));
    Check.that(!fresh.sessionPresent(), "a session after clean start");
    nothingBefore(fresh, topic);
    fresh.end();
    sender.end();
  }

  private void userProperties() throws Exception {
    Client client = open();
    String topic = root + "/properties";
    client.subscribe(topic, 2);
    List<Pair> pairs = List.of(new Pair("b", "1"), new Pair("a", "2"), new Pair("b", "3"), new Pair("ü", "🦆"));
    client.publish(Message.of(topic, "x", 1).with(new Properties(pairs, "text/plain", null, null, 0, 0, List.of())));
    Properties got = client.next().properties();
    Check.same(got.user(), pairs, "user properties");
    Check.same(String.valueOf(got.contentType()), "text/plain", "content type");
    client.end();
  }

  private void expiry() throws Exception {
    Client client = open();
    String topic = root + "/expiry";
    client.publish(Message.of(topic, "x", 1).retain().with(new Properties(List.of(), null, null, null, 100, 0, List.of())));
    client.subscribe(topic, 2);
    long left = client.next().properties().expirySeconds();
    Check.that(left >= 90 && left <= 100, "message expiry " + left + " instead of 100 or a little less");
    client.publish(Message.of(topic, "", 1).retain());
    client.end();
  }

  private void subscriptionIdentifier() throws Exception {
    Client client = open();
    String topic = root + "/identifier";
    client.subscribe(topic, 2, 268_435_455);
    client.publish(Message.of(topic, "x", 1));
    // HiveMQ's client uses identifiers for its own routing and does not show them; then the message must have come by it.
    List<Integer> got = client.next().properties().subscriptionIdentifiers();
    if (!(client instanceof HiveV5)) Check.same(got, List.of(268_435_455), "subscription identifiers");
    client.end();
  }

  private void topicAlias() throws Exception {
    Client client = open();
    String topic = root + "/alias";
    Check.that(client.topicAliasMaximum() > 0, "the broker takes no topic alias");
    client.subscribe(topic, 2);
    Properties alias = new Properties(List.of(), null, null, null, 0, 1, List.of());
    for (int i = 0; i < 3; i++) {
      client.publish(Message.of(topic, "" + i, 1).with(alias));
      Message got = client.next();
      Check.same(got.topic() + got.text(), topic + i, "message by alias");
    }
    client.end();
  }

  private void sharedSubscription() throws Exception {
    Client sender = open();
    String topic = root + "/shared";
    List<Client> members = List.of(open(), open());
    for (Client member : members) {
      member.subscribe("$share/group/" + topic, 2);
      member.subscribe(topic + "/fence", 2);
    }
    for (int i = 0; i < 40; i++) sender.publish(Message.of(topic, "" + i, 1));
    sender.publish(Message.of(topic + "/fence", FENCE, 1));
    List<Integer> got = new ArrayList<>();
    for (Client member : members) {
      for (String text = member.next().text(); !text.equals(FENCE); text = member.next().text()) got.add(Integer.valueOf(text));
    }
    Check.same(got.stream().sorted().toList(), IntStream.range(0, 40).boxed().toList(), "messages of the group");
    for (Client client : Stream.concat(members.stream(), Stream.of(sender)).toList()) client.end();
  }

  private void requestResponse() throws Exception {
    Client asker = open();
    Client answerer = open();
    String topic = root + "/request";
    answerer.subscribe(topic, 2);
    asker.subscribe(topic + "/response", 2);
    byte[] data = {0, 1, (byte) 255};
    asker.publish(Message.of(topic, "6*7", 1).with(new Properties(List.of(), null, topic + "/response", data, 0, 0, List.of())));
    Properties request = answerer.next().properties();
    answerer.publish(
        Message.of(Objects.requireNonNull(request.responseTopic()), "42", 1)
            .with(new Properties(List.of(), null, null, request.correlationData(), 0, 0, List.of())));
    Message response = asker.next();
    Check.same(response.text(), "42", "response");
    Check.that(Arrays.equals(response.properties().correlationData(), data), "the correlation data has changed");
    asker.end();
    answerer.end();
  }
}
