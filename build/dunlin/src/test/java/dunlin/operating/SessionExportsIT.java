package dunlin.operating;

import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBCOMP;
import static dunlin.harness.RawClient.PUBLISH;
import static dunlin.harness.RawClient.PUBREC;
import static dunlin.harness.RawClient.PUBREL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.exports.SessionExportsMXBean.ImportedSessions;
import dunlin.admin.exports.SessionExportsMXBean.SessionPage;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.PacketBytes;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.harness.RuledBroker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions that leave a broker as lines and come to another one, by the admin API and by JMX, as their clients then find them. */
class SessionExportsIT {
  private static final int RETAIN_AS_PUBLISHED = 8;

  @TempDir Path fromData;
  @TempDir Path toData;

  private TestBroker from;
  private TestBroker to;
  private ApiCalls fromApi;
  private ApiCalls toApi;

  @BeforeEach
  void start() {
    Map<String, String> settings = Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.inbox.messages-max", "50");
    from = TestBroker.on(fromData, settings);
    to = TestBroker.on(toData, settings);
    fromApi = ApiCalls.of(fromData);
    toApi = ApiCalls.of(toData);
  }

  @AfterEach
  void stop() {
    fromApi.close();
    toApi.close();
    from.close();
    to.close();
  }

  private static List<String> exported(ApiCalls api, String prefix, int limit) {
    List<String> lines = new ArrayList<>(List.of(Endpoints.SESSIONS_HEADER));
    String next = "";
    do {
      Answer page = api.get("/export/sessions?prefix=" + prefix + "&limit=" + limit + "&cursor=" + next);
      assertThat(page.status()).as(page.text()).isEqualTo(200);
      for (JsonElement row : page.json().getAsJsonArray("items")) lines.add(row.toString());
      next = page.member("next");
    } while (!next.isEmpty());
    return lines;
  }

  private static Answer imported(ApiCalls api, List<String> lines) {
    JsonObject body = new JsonObject();
    body.addProperty("lines", String.join("\n", lines));
    return api.post("/import/sessions", body.toString());
  }

  private static List<String> file(String... lines) {
    List<String> all = new ArrayList<>(List.of(Endpoints.SESSIONS_HEADER));
    all.addAll(List.of(lines));
    return all;
  }

  private static void counts(Answer answer, int sessions, int existing, int messages) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(List.of(answer.member("sessions"), answer.member("existing"), answer.member("messages")))
        .as(answer.text())
        .containsExactly(Integer.toString(sessions), Integer.toString(existing), Integer.toString(messages));
  }

  /** Leaves a session with an exchange of each direction that has begun, subscriptions of each kind, and messages that wait. Answers the packet identifier of the exchange. */
  private int leaveSession() {
    int begun;
    try (var meter = RawClient.connected(from.port(), Connect.of("meter").expiry(3_600));
        var publisher = RawClient.connected(from.port(), Connect.of("van-7").expiry(0))) {
      meter.subscribe("one/#", 1, PacketBytes.subscriptionIdentifier(7));
      meter.subscribe("two/#", 2 | RETAIN_AS_PUBLISHED, PacketBytes.subscriptionIdentifier(9));
      meter.subscribe("$share/g/work", 1);
      meter.subscribe("zero", 0);
      meter.publish("x", 2, 77, "in progress");
      assertThat(meter.next(PUBREC).packetId()).isEqualTo(77);
      publisher.publish("two/begun", 2, 1, "begun");
      publisher.next(PUBREC);
      begun = meter.expect(PUBLISH).message().packetId();
      meter.pubrec(begun);
      assertThat(meter.expect(PUBREL).packetId()).isEqualTo(begun);
      meter.disconnect();
      publisher.pubrel(1);
      publisher.next(PUBCOMP);
      byte[] properties = PacketBytes.properties(PacketBytes.bytes(PacketBytes.USER_PROPERTY, "line", "7"), PacketBytes.bytes(PacketBytes.MESSAGE_EXPIRY, PacketBytes.u32(1_000)));
      publisher.send(PUBLISH | 2, "one/1", PacketBytes.u16(2), properties, "first".getBytes(StandardCharsets.UTF_8));
      publisher.next(PUBACK);
      publisher.publish("two/2", "second", 2, 3, false, true);
      publisher.next(PUBREC);
      publisher.pubrel(3);
      publisher.next(PUBCOMP);
      assertThat(publisher.publishAndWait("one/3", "third")).isLessThan(0x80);
      for (int i = 1; i <= 3; i++) assertThat(publisher.publishAndWait("work", "work " + i)).isLessThan(0x80);
    }
    return begun;
  }

  @Test
  void aClientGoesOnWhereItsSessionHasCome() {
    int begun = leaveSession();
    List<String> lines = exported(fromApi, "", 2);
    assertThat(lines).as("pages of any size").isEqualTo(exported(fromApi, "", 500));
    assertThat(lines.get(1)).contains("\"clientId\":\"meter\"").contains("\"received\":[77]").doesNotContain("null");
    assertThat(exported(fromApi, "van", 500)).as("sessions that end with their connections are not exported").hasSize(1);

    counts(imported(toApi, lines), 1, 0, 7);
    counts(imported(toApi, exported(fromApi, "meter", 500)), 0, 1, 0);
    assertThat(toApi.get("/sessions/meter").member("connected")).isEqualTo("false");
    assertThat(toApi.get("/sessions/meter/subscriptions").members("filter")).containsExactly("$share/g/work", "one/#", "two/#", "zero");
    assertThat(Integer.parseInt(toApi.get("/sessions/meter").member("expirySeconds"))).isBetween(1, 3_600);
    try (var publisher = RawClient.connected(to.port(), Connect.of("van-8").expiry(0)); var other = RawClient.connected(to.port(), Connect.of("other").expiry(0))) {
      other.subscribe("x", 2);
      assertThat(publisher.publishAndWait("one/after", "after")).as("its routes are there").isLessThan(0x80);

      try (var meter = RawClient.connected(to.port(), Connect.of("meter").expiry(3_600))) {
        assertThat(meter.sessionPresent()).isTrue();
        assertThat(meter.expect(PUBREL).packetId()).as("the exchange that has begun goes on").isEqualTo(begun);
        meter.pubcomp(begun);
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < 7; i++) messages.add(meter.take());
        assertThat(messages.stream().map(Message::text).filter(text -> !text.startsWith("work"))).containsExactly("first", "second", "third", "after");
        assertThat(messages.stream().map(Message::text).filter(text -> text.startsWith("work"))).containsExactly("work 1", "work 2", "work 3");
        Message first = messages.stream().filter(message -> message.text().equals("first")).findFirst().orElseThrow();
        assertThat(first.numbers(PacketBytes.SUBSCRIPTION_IDENTIFIER)).containsExactly(7L);
        assertThat(first.numbers(PacketBytes.MESSAGE_EXPIRY).getFirst()).isBetween(1L, 1_000L);
        assertThat(first.qos()).isEqualTo(1);
        assertThat(first.duplicate()).isFalse();
        Message second = messages.stream().filter(message -> message.text().equals("second")).findFirst().orElseThrow();
        assertThat(second.qos()).isEqualTo(2);
        assertThat(second.retain()).as("retain as published").isTrue();
        assertThat(second.numbers(PacketBytes.SUBSCRIPTION_IDENTIFIER)).containsExactly(9L);
        publisher.publish("zero", 0, 0, "live");
        assertThat(meter.take().text()).isEqualTo("live");

        meter.publish("x", "in progress", 2, 77, true);
        assertThat(meter.next(PUBREC).packetId()).as("it is known from the other broker").isEqualTo(77);
        meter.pubrel(77);
        assertThat(meter.next(PUBCOMP).packetId()).isEqualTo(77);
        assertThat(publisher.publishAndWait("x", "another")).isLessThan(0x80);
        assertThat(other.take().text()).as("and was delivered there").isEqualTo("another");
      }
    }
  }

  @Test
  void sessionsOfConnectedClientsAreExportedAsTheyAreStored() {
    try (var meter = RawClient.connected(from.port(), Connect.of("meter").expiry(60)); var publisher = RawClient.connected(from.port(), Connect.of("van-7").expiry(0))) {
      meter.subscribe("a", 1);
      assertThat(publisher.publishAndWait("a", "not acknowledged")).isLessThan(0x80);
      int sent = meter.expect(PUBLISH).message().packetId();

      counts(imported(toApi, exported(fromApi, "", 500)), 1, 0, 1);

      try (var again = RawClient.connected(to.port(), Connect.of("meter").expiry(60))) {
        Message message = again.take();
        assertThat(message.text()).isEqualTo("not acknowledged");
        assertThat(message.duplicate()).isTrue();
        assertThat(message.packetId()).isEqualTo(sent);
      }
    }
  }

  @Test
  void aWrongLineIsNamedAndNothingOfTheRequestIsDone() {
    String begin = "{\"session\":{\"clientId\":\"c\"}}";
    String end = "{\"end\":{\"clientId\":\"c\",\"expirySeconds\":60}}";
    String message = "{\"message\":{\"clientId\":\"c\",\"sequence\":%d,\"topic\":\"a\",\"payload\":\"eA==\"%s}}";
    Map<String, String> wrong =
        Map.ofEntries(
            Map.entry("no json", "it is not a JSON object"),
            Map.entry("{}", "it has 0 of session"),
            Map.entry("{\"session\":{\"clientId\":\"d\"},\"end\":{\"clientId\":\"d\",\"expirySeconds\":1}}", "it has 2 of session"),
            Map.entry("{\"session\":{}}", "there is no client identifier"),
            Map.entry("{\"session\":{\"clientId\":\"d\",\"color\":\"red\"}}", "the member \"color\" is not known"),
            Map.entry("{\"session\":{\"clientId\":\"d\\u0000\"}}", "no client identifier"),
            Map.entry("{\"session\":{\"clientId\":\"d\",\"user\":\"\\ud800\"}}", "no user name"),
            Map.entry("{\"session\":{\"clientId\":\"d\",\"received\":[65536]}}", "the member received is not a number from 0 to 65535"),
            Map.entry("{\"session\":{\"clientId\":\"d\",\"received\":[0]}}", "0 is no packet identifier"),
            Map.entry(message.formatted(0, ""), "there is no sequence"),
            Map.entry(message.formatted(1, ",\"qos\":0"), "messages of QoS 0 wait in no inbox"),
            Map.entry(message.formatted(1, ",\"qos\":3"), "the member qos is not a number from 0 to 2"),
            Map.entry(message.formatted(1, ",\"released\":true"), "only messages of QoS 2 are released"),
            Map.entry(message.formatted(1, ",\"identifiers\":[0]"), "0 is no Subscription Identifier"),
            Map.entry(message.formatted(1, ",\"properties\":\"~\""), "the properties are not in Base64"),
            Map.entry(message.formatted(1, "").replace("\"a\"", "\"a/#\""), "wildcards"),
            Map.entry("{\"subscription\":{\"clientId\":\"c\",\"filter\":\"a/#/b\"}}", "no topic filter"),
            Map.entry("{\"subscription\":{\"clientId\":\"c\",\"filter\":\"$share/g/a\",\"noLocal\":true}}", "MQTT-3.8.3-4"),
            Map.entry("{\"subscription\":{\"clientId\":\"c\",\"filter\":\"a\",\"retainHandling\":3}}", "the member retainHandling"),
            Map.entry("{\"end\":{\"clientId\":\"c\"}}", "expire at once"),
            Map.entry("{\"groupMessage\":{\"filter\":\"a\",\"topic\":\"a\",\"payload\":\"eA==\"}}", "not the filter of a shared subscription"));
    wrong.forEach(
        (line, why) -> {
          Answer answer = imported(toApi, file(begin, line, end));
          assertThat(answer.status()).as(why).isEqualTo(400);
          assertThat(answer.member("detail")).startsWith("Line 3: ").contains(why);
        });
    String subscription = "{\"subscription\":{\"clientId\":\"c\",\"filter\":\"a\"}}";
    assertThat(imported(toApi, file(begin, subscription, message.formatted(1, ""))).member("detail")).startsWith("Line 4: it is out of order");
    assertThat(imported(toApi, file(begin, message.formatted(2, ""), message.formatted(2, ""))).member("detail")).startsWith("Line 4: it is out of order");
    assertThat(imported(toApi, file(begin, end, subscription)).member("detail")).startsWith("Line 4: it is out of order");
    assertThat(imported(toApi, List.of(Endpoints.EXPORT_HEADER)).member("detail")).startsWith("Line 1: ");
    assertThat(toApi.get("/sessions").members("clientId")).isEmpty();
    assertThat(toApi.get("/export/sessions?cursor=AAAA").status()).isEqualTo(400);
    assertThat(toApi.get("/export/sessions?tenant=%23").status()).isEqualTo(400);
  }

  @Test
  void limitsHoldAndRefusalsAreCountedByReason() {
    List<String> lines = file("{\"session\":{\"clientId\":\"c\"}}");
    for (int i = 1; i <= 60; i++) lines.add("{\"message\":{\"clientId\":\"c\",\"sequence\":%d,\"topic\":\"a\",\"payload\":\"eA==\"}}".formatted(i));
    lines.add("{\"end\":{\"clientId\":\"c\",\"expirySeconds\":60}}");
    lines.add("{\"groupMessage\":{\"filter\":\"$share/g/a\",\"topic\":\"a\",\"payload\":\"eA==\"}}");

    Answer answer = imported(toApi, lines);

    counts(answer, 1, 0, 60);
    assertThat(answer.json().getAsJsonObject("refused").toString()).isEqualTo("{\"no-members\":1}");
    assertThat(toApi.get("/sessions/c").member("messages")).as("the oldest were dropped").isEqualTo("50");
  }

  private static String subscription(String clientId, String filter, String more) {
    return "{\"subscription\":{\"clientId\":\"%s\",\"filter\":\"%s\"%s}}".formatted(clientId, filter, more);
  }

  private static List<String> session(String clientId, String... lines) {
    List<String> all = new ArrayList<>(List.of("{\"session\":{\"clientId\":\"%s\"}}".formatted(clientId)));
    all.addAll(List.of(lines));
    all.add("{\"end\":{\"clientId\":\"%s\",\"expirySeconds\":60}}".formatted(clientId));
    return all;
  }

  /** A client would be refused these in SUBACK; a session that lacked them would be resumed by a client that counts on them. */
  @Test
  void aSessionThatNoClientCouldHaveHereIsRefusedAsAWhole() throws Exception {
    Path data = Files.createDirectory(toData.resolve("other"));
    Map<String, String> off =
        Map.of(
            "dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.mqtt.maximum-qos", "1", "dunlin.mqtt.retain-available", "false",
            "dunlin.mqtt.wildcard-subscription-available", "false", "dunlin.mqtt.shared-subscription-available", "false", "dunlin.mqtt.subscription-identifiers-available",
            "false", "dunlin.mqtt.topic-levels-max", "4");
    String waiting = "{\"message\":{\"clientId\":\"%s\",\"sequence\":1,\"topic\":\"a\",\"qos\":%d,\"retain\":true,\"payload\":\"eA==\"}}";
    List<String> lines = file();
    lines.addAll(session("wildcard", waiting.formatted("wildcard", 1), subscription("wildcard", "b", ""), subscription("wildcard", "a/#", "")));
    lines.addAll(session("shared", subscription("shared", "$share/g/a", "")));
    lines.addAll(session("identifier", subscription("identifier", "a", ",\"identifier\":7")));
    lines.addAll(session("levels", subscription("levels", "1/2/3/4/5", "")));
    lines.addAll(session("twice", waiting.formatted("twice", 2)));
    lines.addAll(session("good", waiting.formatted("good", 1), subscription("good", "a", ",\"qos\":2")));
    lines.add("{\"groupMessage\":{\"filter\":\"$share/g/a\",\"topic\":\"a\",\"qos\":2,\"payload\":\"eA==\"}}");
    try (var strict = TestBroker.on(data, off);
        var api = ApiCalls.of(data)) {
      Answer answer = imported(api, lines);

      counts(answer, 1, 0, 1);
      JsonObject refused = answer.json().getAsJsonObject("refused");
      assertThat(refused.asMap().entrySet().stream().map(each -> each.getKey() + " " + each.getValue()))
          .containsExactlyInAnyOrder(
              "wildcard-subscriptions-not-supported 1", "shared-subscriptions-not-supported 1", "subscription-identifiers-not-supported 1", "topic-filter-invalid 1",
              "qos-not-supported 2");
      List<String> sentences = answer.json().getAsJsonArray("sentences").asList().stream().map(JsonElement::getAsString).toList();
      assertThat(sentences).hasSize(6).contains("line 5: the topic filter: wildcards are switched off (dunlin.mqtt.wildcard-subscription-available)");
      assertThat(sentences.getLast()).startsWith("line 23: a message has QoS 2, the maximum is 1");
      assertThat(api.get("/sessions").members("clientId")).containsExactly("good");
      assertThat(api.get("/sessions/good/subscriptions").members("qos")).as("as SUBACK would grant").containsExactly("1");
      try (var good = RawClient.connected(strict.port(), Connect.of("good").expiry(60))) {
        assertThat(good.take().retain()).as("nothing is retained here").isFalse();
      }
    }
  }

  @Test
  void theLimitsOfATenantHoldForItsSessions() throws Exception {
    Path data = Files.createDirectory(toData.resolve("other"));
    Map<String, String> limited =
        Map.of(
            "dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.tenants.small.limits", "subscriptions=1,wildcards=no,qos=1", "dunlin.tenants.unknown", "refuse");
    List<String> lines = file();
    lines.addAll(session("one", subscription("one", "a", ",\"qos\":2")));
    lines.addAll(session("two", subscription("two", "a", ""), subscription("two", "b", "")));
    lines.addAll(session("wildcard", subscription("wildcard", "+", "")));
    JsonObject body = new JsonObject();
    body.addProperty("lines", String.join("\n", lines));
    try (var _ = TestBroker.on(data, limited);
        var api = ApiCalls.of(data)) {
      body.addProperty("tenant", "small");
      Answer answer = api.post("/import/sessions", body.toString());
      counts(answer, 1, 0, 0);
      assertThat(answer.json().getAsJsonObject("refused").asMap().keySet()).containsExactlyInAnyOrder("subscriptions", "wildcard-subscriptions-not-supported");
      assertThat(answer.text()).contains("wildcards are not allowed to this tenant");
      assertThat(api.get("/sessions/one/subscriptions?tenant=small").members("qos")).containsExactly("1");

      body.addProperty("tenant", "none-such");
      Answer unknown = api.post("/import/sessions", body.toString());
      assertThat(unknown.status()).isEqualTo(409);
      assertThat(unknown.member("detail")).isEqualTo("Sessions are not imported: the tenant is not known here (dunlin.tenants.unknown).");
    }
  }

  /** Which rules apply follows from how the client authenticates, so an import cannot know it. */
  @Test
  void accessRulesAreInForceOnceTheClientOfAnImportedSessionConnects() throws Exception {
    Path ruled = Files.createDirectory(toData.resolve("ruled"));
    String waiting = "{\"message\":{\"clientId\":\"c\",\"sequence\":%d,\"topic\":\"%s\",\"payload\":\"eA==\"}}";
    List<String> lines = file("{\"session\":{\"clientId\":\"c\",\"user\":\"reader\"}}", waiting.formatted(1, "denied/1"), waiting.formatted(2, "allowed/2"));
    lines.addAll(List.of(subscription("c", "denied/#", ",\"qos\":1"), subscription("c", "allowed/#", ",\"qos\":1"), "{\"end\":{\"clientId\":\"c\",\"expirySeconds\":60}}"));
    try (var rules = new RuledBroker(ruled, "allow user reader subscribe allowed/#", "allow user reader receive #");
        var api = ApiCalls.of(ruled.resolve("data"))) {
      counts(imported(api, lines), 1, 0, 2);
      try (var admin = rules.connected("admin", "admin")) {
        assertThat(admin.publishAndWait("denied/3", "later")).isLessThan(0x80);
        assertThat(admin.publishAndWait("allowed/4", "later")).isLessThan(0x80);
      }

      try (var client = rules.durable("reader", "c")) {
        assertThat(client.sessionPresent()).isTrue();
        assertThat(client.take().topic()).isEqualTo("allowed/2");
        assertThat(client.take().topic()).isEqualTo("allowed/4");
        await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(api.get("/sessions/c/subscriptions").members("filter")).containsExactly("allowed/#"));
      }
    }
  }

  @Test
  void largeMessagesGoOverSeveralRequests() {
    try (var meter = RawClient.connected(from.port(), Connect.of("meter").expiry(60)); var publisher = RawClient.connected(from.port(), Connect.of("van-7").expiry(0))) {
      meter.subscribe("a", 1);
      meter.disconnect();
      for (int i = 1; i <= 3; i++) assertThat(publisher.publishAndWait("a", i + "x".repeat(700_000))).isLessThan(0x80);
    }
    List<String> lines = exported(fromApi, "", 500);
    assertThat(lines).hasSize(7);

    for (String line : lines.subList(1, 7)) assertThat(imported(toApi, file(line)).status()).isEqualTo(200);

    try (var meter = RawClient.connected(to.port(), Connect.of("meter").expiry(60))) {
      for (int i = 1; i <= 3; i++) assertThat(meter.take().text()).hasSize(700_001).startsWith(Integer.toString(i));
    }
  }

  @Test
  void jmxDoesTheSame() throws Exception {
    int begun = leaveSession();
    SessionExportsMXBean bean = from.bean("SessionExports", SessionExportsMXBean.class);

    SessionPage page = bean.exportSessions("default", "", "", 1);
    assertThat(page.lines()).hasSize(1);
    assertThat(page.lines().getFirst().session()).isEqualTo(new SessionExportsMXBean.SessionBegin("meter", "", List.of(77)));
    assertThat(bean.exportSessions("default", "", page.next(), 1).lines().getFirst().message())
        .satisfies(message -> assertThat((int) ((message.sequence() - 1) % 65_535) + 1).isEqualTo(begun))
        .satisfies(message -> assertThat(message.released()).isTrue());
    assertThatThrownBy(() -> bean.exportSessions("default", "", "", 501)).hasMessageContaining("from 1 to 500");
    SessionExportsMXBean other = to.bean("SessionExports", SessionExportsMXBean.class);
    ImportedSessions imported = other.importSessions("default", String.join("\n", exported(fromApi, "", 500)), 2);
    assertThat(imported).isEqualTo(new ImportedSessions(1, 0, 0, 7, 0, Map.of(), List.of()));
    assertThatThrownBy(() -> other.importSessions("default", "", 2)).hasMessageContaining("there is no line");
  }
}
