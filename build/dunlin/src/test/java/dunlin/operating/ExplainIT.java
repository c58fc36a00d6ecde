package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.admin.explain.ExplanationMXBean;
import dunlin.admin.explain.ExplanationMXBean.Explanation;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code explain} says about a message, and what a real message then does. */
class ExplainIT {
  private static final int NO_LOCAL = 4;
  private static final int NOT_AUTHORIZED = 0x87;
  private static final int QUOTA_EXCEEDED = 0x97;
  private static final String RULES =
      """
      deny everyone receive secret/#
      deny everyone publish closed/#
      allow everyone all #
      allow everyone all $app/#
      """;

  @TempDir static Path directory;

  private static TestBroker broker;
  private static ApiCalls api;

  @BeforeAll
  static void start() throws IOException {
    Path rules = Files.writeString(directory.resolve("acl"), RULES);
    broker = brokerOn("data", Map.of("dunlin.auth.acl-file", rules.toString(), "dunlin.inbox.messages-max", "3", "dunlin.session.queue-messages-max", "2"));
    api = ApiCalls.of(directory.resolve("data"));
  }

  @AfterAll
  static void stop() {
    api.close();
    broker.close();
  }

  private static TestBroker brokerOn(String folder, Map<String, String> settings) {
    var all = new HashMap<>(settings);
    all.putAll(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    return TestBroker.on(directory.resolve(folder), all);
  }

  /** What the API answers. */
  private record Explained(JsonObject json) {
    String conclusion() {
      return json.get("conclusion").getAsString();
    }

    String reason() {
      return json.get("reason").getAsString();
    }

    String step(String name) {
      for (JsonElement each : json.getAsJsonArray("steps")) {
        JsonObject step = each.getAsJsonObject();
        if (step.get("step").getAsString().equals(name)) return step.get("outcome").getAsString() + ": " + step.get("finding").getAsString();
      }
      return "";
    }

    /** The last step stops the message, and no other does. */
    void stopsAt(String name) {
      List<JsonObject> steps = json.getAsJsonArray("steps").asList().stream().map(JsonElement::getAsJsonObject).toList();
      assertThat(steps.stream().filter(step -> step.get("outcome").getAsString().equals("stops"))).containsExactly(steps.getLast());
      assertThat(steps.getLast().get("step").getAsString()).isEqualTo(name);
      assertThat(steps.getLast().get("finding").getAsString()).isEqualTo(reason());
    }
  }

  private static Explained explain(String clientId, String topic, String more) {
    return explain(api, clientId, topic, more);
  }

  private static Explained explain(ApiCalls asked, String clientId, String topic, String more) {
    Answer answer = asked.get("/explain?client=" + clientId + "&topic=" + topic + more);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return new Explained(answer.json());
  }

  private static RawClient online(String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId).expiry(0));
  }

  private static RawClient durable(String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId));
  }

  /** Leaves a durable session with these subscriptions. */
  private static void absent(String clientId, String... filters) {
    absent(broker, api, clientId, filters);
  }

  private static void absent(TestBroker at, ApiCalls asked, String clientId, String... filters) {
    RawClient.connected(at.port(), Connect.of(clientId)).disconnectAfter(client -> List.of(filters).forEach(filter -> client.subscribe(filter, 1)));
    awaitAbsence(asked, clientId);
  }

  private static void awaitAbsence(ApiCalls asked, String clientId) {
    await().atMost(TestBroker.SOON).until(() -> asked.get("/sessions/" + clientId).member("connected").equals("false"));
  }

  private static int publish(String topic, String payload) {
    try (var publisher = online("publisher")) {
      return publisher.publishAndWait(topic, payload);
    }
  }

  @Test
  void aMessageIsDeliveredNow() throws Exception {
    try (var online = online("now-online");
        var durable = durable("now-durable");
        var _ = online("now-publisher")) {
      for (RawClient client : List.of(online, durable)) client.subscribe("now/+", 1);
      for (String clientId : List.of("now-online", "now-durable")) {
        Explained said = explain(clientId, "now/7", "&publisher=now-publisher");
        assertThat(said.conclusion()).isEqualTo("delivered now");
        assertThat(said.json().getAsJsonArray("steps").asList().stream().map(step -> step.getAsJsonObject().get("outcome").getAsString())).containsOnly("passes");
        assertThat(said.step("publisher-rules")).contains("acl:3 allows now-publisher to publish it");
        assertThat(said.step("receive-rules")).contains("acl:3 allows " + clientId + " to receive it");
        assertThat(said.step("subscription")).contains("has subscribed to now/+ with QoS 1.");
        assertThat(said.step("routes")).contains("2 routes");
        assertThat(said.step("session")).contains(clientId.equals("now-online") ? "ends with its connection" : "outlives its connection by 3,600 s");
        assertThat(said.step("inbox").isEmpty()).isEqualTo(clientId.equals("now-online"));
      }
      publish("now/7", "real");
      for (RawClient client : List.of(online, durable)) assertThat(client.take().text()).isEqualTo("real");

      Explanation byJmx = broker.bean("Explanation", ExplanationMXBean.class).explain("default", "now-online", "now/7", "", 1, false, 0, -1);
      Explained byApi = explain("now-online", "now/7", "");
      assertThat(byJmx.conclusion()).isEqualTo(byApi.conclusion());
      assertThat(byJmx.steps().stream().map(ExplanationMXBean.Step::finding).toList())
          .isEqualTo(byApi.json().getAsJsonArray("steps").asList().stream().map(step -> step.getAsJsonObject().get("finding").getAsString()).toList());
    }
  }

  @Test
  void theSubscriptionLowersTheQoS() {
    try (var client = online("lower")) {
      client.subscribe("lower/#", 0);
      Explained said = explain("lower", "lower/a", "&qos=2");
      assertThat(said.conclusion()).isEqualTo("delivered now");
      assertThat(said.step("subscription")).contains("subscribed to lower/# with QoS 0, so that it is sent with QoS 0 instead of 2");
      assertThat(said.step("queue")).contains("The socket takes a message of QoS 0");
      publish("lower/a", "real");
      assertThat(client.take().qos()).isZero();
    }
  }

  @Test
  void noSubscriptionMatches() {
    try (var client = durable("unmatched");
        var _ = online("without")) {
      client.subscribe("a/#", 1);
      client.subscribe("b", 1);
      Explained said = explain("unmatched", "plant/7/state", "");
      assertThat(said.conclusion()).isEqualTo("not delivered");
      said.stopsAt("subscription");
      assertThat(said.reason()).isEqualTo("The client unmatched has no subscription that matches plant/7/state; its filters are a/#, b.");
      publish("plant/7/state", "real");
      assertThat(client.untilPong()).isEmpty();
      assertThat(explain("without", "a", "").reason()).isEqualTo("The client without has no subscriptions.");
      client.disconnect();
    }
    awaitAbsence(api, "unmatched");
    assertThat(explain("unmatched", "plant/7/state", "").reason()).as("the same of the absent client").contains("its filters are a/#, b.");
  }

  @Test
  void wildcardsMatchNoTopicOfTheServer() {
    try (var client = online("wild")) {
      client.subscribe("#", 1);
      Explained said = explain("wild", "$app/x", "");
      said.stopsAt("subscription");
      assertThat(said.reason()).endsWith("its filters are #. No filter that begins with a wildcard matches a topic that begins with $.");
      publish("$app/x", "real");
      assertThat(client.untilPong()).isEmpty();
      Explained refused = explain("wild", "$SYS/x", "&publisher=wild");
      refused.stopsAt("topic");
      assertThat(publish("$SYS/x", "real")).isEqualTo(NOT_AUTHORIZED);
    }
  }

  @Test
  void anOwnMessageIsNotForASubscriptionWithNoLocal() {
    try (var client = online("own")) {
      client.subscribe("own/#", 1 | NO_LOCAL);
      Explained said = explain("own", "own/a", "&publisher=own");
      said.stopsAt("subscription");
      assertThat(said.conclusion()).isEqualTo("not delivered");
      assertThat(said.reason()).contains("has subscribed to own/# with No Local");
      assertThat(explain("own", "own/a", "").conclusion()).isEqualTo("delivered now");
      client.publishAndWait("own/a", "mine");
      publish("own/a", "real");
      assertThat(client.take().text()).isEqualTo("real");
    }
  }

  @Test
  @Tag("explain:session:not-authorized")
  void accessRulesWithholdIt() {
    try (var client = online("withheld")) {
      client.subscribe("#", 1);
      Explained said = explain("withheld", "secret/a", "");
      said.stopsAt("receive-rules");
      assertThat(said.conclusion()).isEqualTo("withheld");
      assertThat(said.reason()).contains("acl:1 does not allow withheld to receive it");
      publish("secret/a", "real");
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  @Tag("explain:publish:not-authorized")
  void accessRulesRefuseThePublisher() {
    try (var client = online("refused")) {
      client.subscribe("closed/a", 1);
      Explained said = explain("refused", "closed/a", "&publisher=refused");
      said.stopsAt("publisher-rules");
      assertThat(said.conclusion()).isEqualTo("not delivered");
      assertThat(said.reason()).contains("acl:2 does not allow refused to publish it");
      assertThat(client.publishAndWait("closed/a", "real")).isEqualTo(NOT_AUTHORIZED);
      assertThat(client.untilPong()).isEmpty();

      Explained unknown = explain("refused", "closed/a", "&publisher=not-here");
      assertThat(unknown.conclusion()).isEqualTo("not known");
      assertThat(unknown.step("publisher-rules")).startsWith("unknown: The publisher not-here is not connected, so");
      assertThat(unknown.step("queue")).as("the other steps are there").startsWith("passes");
      assertThat(explain("refused", "elsewhere", "&publisher=not-here").conclusion()).as("whatever the publisher may do").isEqualTo("not delivered");
    }
  }

  @Test
  @Tag("explain:inbox:offline")
  void aMessageIsStoredForAnAbsentClientUnlessItsQoSIsZero() {
    try (var client = durable("absent")) {
      client.subscribe("absent/one", 1);
      client.subscribe("absent/zero", 0);
      client.disconnect();
    }
    awaitAbsence(api, "absent");
    Explained said = explain("absent", "absent/one", "");
    assertThat(said.conclusion()).isEqualTo("stored until the client is back");
    assertThat(said.step("connection")).contains("not connected, so the message is stored");
    assertThat(said.step("receive-rules")).startsWith("unknown: Access rules are asked when messages are sent");
    assertThat(said.step("inbox")).contains("holds 0 messages of at most 3");
    for (Explained dropped : List.of(explain("absent", "absent/one", "&qos=0"), explain("absent", "absent/zero", ""))) {
      dropped.stopsAt("connection");
      assertThat(dropped.conclusion()).isEqualTo("dropped");
      assertThat(dropped.reason()).contains("a message of QoS 0 is not stored");
    }
    publish("absent/zero", "dropped");
    publish("absent/one", "stored");
    try (var back = RawClient.connected(broker.port(), Connect.of("absent"))) {
      assertThat(back.take().text()).isEqualTo("stored");
      assertThat(back.untilPong()).isEmpty();
    }
  }

  @Test
  @Tag("explain:inbox:oldest")
  void aFullInboxDropsTheOldest() {
    absent("full", "full");
    for (int i = 1; i <= 3; i++) publish("full", Integer.toString(i));
    Explained said = explain("full", "full", "");
    assertThat(said.conclusion()).isEqualTo("stored until the client is back");
    assertThat(said.step("inbox")).contains("holds 3 messages, as many as dunlin.inbox.messages-max allows: the oldest is dropped");
    publish("full", "4");
    assertThat(api.get("/sessions/full/messages").members("sequence")).containsExactly("2", "3", "4");
  }

  @ParameterizedTest
  @CsvSource({"drop-newest, this message is dropped, 0", "reject, the message is stored nowhere, 151"})
  @Tag("explain:inbox:newest")
  @Tag("explain:inbox:rejected")
  void aFullInboxTakesNothingMore(String overflow, String sentence, int reason) {
    try (TestBroker other = brokerOn(overflow, Map.of("dunlin.inbox.messages-max", "1", "dunlin.inbox.overflow", overflow));
        ApiCalls asked = ApiCalls.of(directory.resolve(overflow));
        var publisher = RawClient.connected(other.port(), Connect.of("publisher").expiry(0))) {
      absent(other, asked, "full", "full");
      publisher.publishAndWait("full", "first");
      Explained said = explain(asked, "full", "full", "&publisher=gone");
      said.stopsAt("inbox");
      assertThat(said.conclusion()).isEqualTo("dropped");
      assertThat(said.reason()).contains("holds 1 message, as many as dunlin.inbox.messages-max allows: " + sentence);
      assertThat(said.step("publisher-rules")).startsWith("passes: There are no access rules");
      assertThat(publisher.publishAndWait("full", "second")).isEqualTo(reason).isIn(0, QUOTA_EXCEEDED);
      assertThat(asked.get("/sessions/full").member("messages")).isEqualTo("1");
    }
  }

  @Test
  @Tag("explain:inbox:tenant-full")
  void whatTheInboxesOfATenantMayHoldIsOneLimitForAll() {
    Map<String, String> settings = Map.of("dunlin.tenants.limits", "inbox-bytes=64KiB", "dunlin.inbox.overflow", "drop-newest");
    try (TestBroker other = brokerOn("tenant-full", settings);
        ApiCalls asked = ApiCalls.of(directory.resolve("tenant-full"));
        var publisher = RawClient.connected(other.port(), Connect.of("publisher").expiry(0))) {
      absent(other, asked, "large", "large");
      absent(other, asked, "small", "small");
      publisher.publishAndWait("large", "x".repeat(60_000));
      Explained said = explain(asked, "small", "small", "&publisher=gone&bytes=9000");
      said.stopsAt("inbox");
      assertThat(said.conclusion()).isEqualTo("dropped");
      assertThat(said.reason()).contains("holds 0 bytes of at most ", "inbox-bytes of the tenant), too many for 9,000 bytes more: this message is dropped");
      assertThat(publisher.publishAndWait("small", "x".repeat(9_000))).isZero();
      assertThat(asked.get("/sessions/small").member("messages")).isEqualTo("0");
      assertThat(publisher.publishAndWait("small", "little")).as("each inbox may hold some").isZero();
      assertThat(asked.get("/sessions/small").member("messages")).isEqualTo("1");
    }
  }

  @Test
  @Tag("explain:session:queue-full")
  void aMessageWaitsBehindOthersUntilTheQueueIsFull() {
    try (var client = RawClient.connected(broker.port(), Connect.of("slow").expiry(0).receiveMaximum(1))) {
      client.subscribe("slow", 1);
      publish("slow", "1");
      Explained waits = explain("slow", "slow", "");
      assertThat(waits.conclusion()).isEqualTo("waits until the client takes it");
      assertThat(waits.reason()).contains("Of at most 1 messages in flight there are 1, and there wait 0 more on this node");
      publish("slow", "2");
      publish("slow", "3");
      Explained full = explain("slow", "slow", "");
      full.stopsAt("queue");
      assertThat(full.conclusion()).isEqualTo("dropped");
      assertThat(full.reason()).startsWith("2 messages with ").contains("of at most 2 and ");
      publish("slow", "4");
      for (int i = 1; i <= 3; i++) assertThat(client.take().text()).isEqualTo(Integer.toString(i));
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  void oneMemberOfAGroupGetsIt() {
    String filter = "$share/team/shared/a";
    try (var first = online("member-1")) {
      first.subscribe(filter, 1);
      assertThat(explain("member-1", "shared/a", "").conclusion()).as("the only member").isEqualTo("delivered now");
      absent("member-2", filter);
      try (var third = online("member-3")) {
        third.subscribe(filter, 1);
        for (String clientId : List.of("member-1", "member-2", "member-3")) {
          Explained said = explain(clientId, "shared/a", "");
          assertThat(said.conclusion()).isEqualTo("one member of its group gets it");
          assertThat(said.reason()).contains("The shared subscription $share/team/shared/a has 3 members. One member of each gets the message");
        }
        publish("shared/a", "real");
        int got = first.untilPong().size() + third.untilPong().size() + Integer.parseInt(api.get("/sessions/member-2").member("messages"));
        assertThat(got).isEqualTo(1);
      }
    }
  }

  @Test
  void theOnlyMemberOfAGroupIsAwaited() {
    absent("lone-member", "$share/lone/waits");
    Explained said = explain("lone-member", "waits", "");
    assertThat(said.conclusion()).isEqualTo("stored until the client is back");
    assertThat(said.step("inbox")).contains("The inbox of the group holds 0 messages of at most 3");
    publish("waits", "real");
    assertThat(explain("lone-member", "waits", "").step("inbox")).contains("The inbox of the group holds 1 message of at most 3");
    try (var back = durable("lone-member")) {
      assertThat(back.take().text()).isEqualTo("real");
    }
  }

  @Test
  void aClientThatIsNotThereIsNotFound() {
    online("was-online").disconnectAfter(client -> client.subscribe("t", 1));
    await().atMost(TestBroker.SOON).until(() -> api.get("/sessions/was-online").status() == 404);
    for (String clientId : List.of("never", "was-online")) {
      Answer none = api.get("/explain?client=" + clientId + "&topic=t");
      assertThat(none.status()).isEqualTo(404);
      assertThat(none.member("detail")).contains("has no session of it: it has ended, or there was never one");
    }
    absent("other-tenant", "t");
    assertThat(api.get("/explain?client=other-tenant&topic=t&tenant=another").status()).isEqualTo(404);
  }

  @ParameterizedTest
  @ValueSource(strings = {"client=c&topic=a/%23", "client=c&topic=%2B", "client=c&topic=a%00", "client=c&topic=", "client=c", "topic=a", "client=&topic=a",
        "client=c&topic=$share/g/a", "client=c&topic=a&qos=3", "client=c&topic=a&retain=maybe", "client=c&topic=a&limit=1"})
  void whatCannotBeMeantIsRefused(String query) {
    Answer answer = api.get("/explain?" + query);
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.type()).isEqualTo("application/problem+json");
    assertThat(answer.member("detail")).isNotBlank();
  }

  @Test
  void whatMayNotBePublishedStopsAtItsTopic() {
    try (var client = online("deep")) {
      client.subscribe("#", 1);
      Explained said = explain("deep", "a/".repeat(200) + "a", "");
      said.stopsAt("topic");
      assertThat(said.reason()).isEqualTo("The topic name has 201 levels, more than the 128 of dunlin.mqtt.topic-levels-max.");
    }
  }

  @Test
  @Tag("explain:publish:retained-full")
  void thereIsNoRoomForAnotherRetainedMessage() {
    try (TestBroker other = brokerOn("retaining", Map.of("dunlin.retain.messages-max", "1"));
        ApiCalls asked = ApiCalls.of(directory.resolve("retaining"));
        var client = RawClient.connected(other.port(), Connect.of("reader").expiry(0));
        var publisher = RawClient.connected(other.port(), Connect.of("publisher").expiry(0))) {
      client.subscribe("r/#", 1);
      assertThat(explain(asked, "reader", "r/1", "").step("retained")).as("without the flag").isEmpty();
      assertThat(explain(asked, "reader", "r/1", "&retain=true").step("retained")).isEqualTo("passes: It becomes the retained message of r/1; 0 topics of at most 1 have one.");
      assertThat(publisher.publishAndWait("r/1", "first", true)).isZero();
      assertThat(client.take().text()).isEqualTo("first");

      assertThat(explain(asked, "reader", "r/1", "&retain=true").step("retained")).isEqualTo("passes: It replaces the retained message that r/1 has.");
      Explained full = explain(asked, "reader", "r/2", "&retain=true");
      assertThat(full.conclusion()).isEqualTo("delivered now");
      assertThat(full.step("retained"))
          .isEqualTo(
              "passes: The retained messages are 1 of at most 1 (dunlin.retain.messages-max), so it is not retained, and its publisher gets 0x97; it goes to the"
                  + " subscribers all the same.");
      assertThat(explain(asked, "reader", "r/2", "&retain=true&qos=0").step("retained")).startsWith("passes: ").contains("with QoS 0 it goes to the subscribers");
      assertThat(explain(asked, "reader", "r/2", "&retain=true&qos=2").conclusion()).isEqualTo("not known");
      assertThat(publisher.publishAndWait("r/2", "second", true)).isEqualTo(QUOTA_EXCEEDED);
      assertThat(client.take().text()).isEqualTo("second");
    }
  }

  @Test
  void aViewerMayAsk() throws IOException {
    String viewer = AdminTokens.create();
    Path tokens = Files.writeString(directory.resolve("tokens"), AdminTokens.line("viewer", Role.VIEWER, viewer) + "\n");
    try (TestBroker other = brokerOn("viewed", Map.of("dunlin.admin.token-file", tokens.toString()));
        ApiCalls own = ApiCalls.of(directory.resolve("viewed"));
        ApiCalls asked = own.with(viewer);
        var client = RawClient.connected(other.port(), Connect.of("seen").expiry(0))) {
      client.subscribe("a", 1);
      assertThat(explain(asked, "seen", "a", "").conclusion()).isEqualTo("delivered now");
    }
  }
}
