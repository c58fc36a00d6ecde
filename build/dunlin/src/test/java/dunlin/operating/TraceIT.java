package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.admin.peers.TracesMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ApiEvents;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.model.ReasonCode;
import dunlin.operating.Followed.Line;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a trace says about real messages, beside what the counters say. */
class TraceIT {
  private static final int NO_LOCAL = 4;
  private static final int QUOTA_EXCEEDED = 0x97;
  private static final int NOT_AUTHORIZED = 0x87;
  private static final String RULES =
      """
      deny everyone receive secret/#
      deny everyone publish closed/#
      allow everyone all #
      """;

  @TempDir static Path directory;

  private static TestBroker broker;
  private static ApiCalls api;
  private static String viewer;

  @BeforeAll
  static void start() throws IOException {
    Path rules = Files.writeString(directory.resolve("acl"), RULES);
    viewer = AdminTokens.create();
    Path tokens = Files.writeString(directory.resolve("tokens"), AdminTokens.line("viewer", Role.VIEWER, viewer) + "\n");
    broker =
        TestBroker.on(
            directory.resolve("data"),
            Map.of(
                "dunlin.auth.acl-file", rules.toString(), "dunlin.admin.token-file", tokens.toString(), "dunlin.session.queue-messages-max", "2",
                "dunlin.session.outbound-max", "64KiB", "dunlin.shared.wait", "200ms", "dunlin.retain.messages-max", "1", "dunlin.inbox.messages-max", "2",
                "dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory.resolve("data"));
  }

  @AfterAll
  static void stop() {
    api.close();
    broker.close();
  }

  private static List<String> what(List<Line> lines) {
    return lines.stream().map(Line::what).toList();
  }

  private static List<String> steps(List<Line> lines) {
    return lines.stream().map(line -> line.hop() + " " + line.step()).toList();
  }

  private static List<Line> of(String hop, List<Line> lines) {
    return lines.stream().filter(line -> line.hop().equals(hop)).toList();
  }

  /** Follows a topic while something is done; the trace and the ledger say that one more was dropped, for this reason. */
  private static List<Line> dropped(HopLedger ledger, String hop, DropReason reason, String topic, ThrowingRunnable action) throws Exception {
    await("the clients of earlier tests have left").atMost(TestBroker.SOON).until(() -> copies().inFlight() == 0 && publishes().inFlight() == 0);
    long before = ledger.dropped(reason);
    try (Followed trace = Followed.topic(api, topic)) {
      action.run();
      List<Line> lines = trace.until(hop + " dropped " + reason.tag());
      assertThat(what(lines).stream().filter(each -> each.startsWith(hop + " dropped")).toList()).containsOnly(hop + " dropped " + reason.tag());
      await().atMost(TestBroker.SOON).untilAsserted(
          () -> assertThat(ledger.dropped(reason) - before).isEqualTo(trace.lines().stream().filter(line -> line.what().startsWith(hop + " dropped")).count()));
      return lines;
    }
  }

  private interface ThrowingRunnable {
    void run() throws Exception;
  }

  private static HopLedger copies() {
    return broker.frontend().copies();
  }

  private static HopLedger publishes() {
    return broker.frontend().publishes();
  }

  private static RawClient online(String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId).expiry(0));
  }

  private static RawClient online(String clientId, byte[]... properties) {
    return RawClient.connected(broker, clientId, properties);
  }

  private static int publish(String topic, String payload) {
    try (var publisher = online("publisher")) {
      return publisher.publishAndWait(topic, payload);
    }
  }

  // ------------------------------------------------------------------------------------------------------------- the way

  @Test
  void aMessageIsFollowedFromSocketToSocket() {
    try (var subscriber = online("sub");
        var publisher = online("pub");
        Followed trace = Followed.topic(api, "way/#")) {
      subscriber.subscribe("way/+", 1);
      publisher.publishAndWait("way/1", "payload");
      subscriber.take();

      trace.until("publish answered success");
      List<Line> lines = trace.until("session delivered");
      assertThat(steps(lines).subList(0, 5)).containsExactly("publish received", "publish handed-on", "routes forwarded", "session received", "session sent");
      assertThat(steps(lines)).hasSize(7);
      assertThat(of("routes", lines)).extracting(Line::reason).containsExactly(broker.node().nodeId() + " way/+");
      assertThat(lines).extracting(Line::topic).containsOnly("way/1");
      assertThat(lines).extracting(Line::publisher).containsOnly("pub");
      assertThat(of("session", lines)).extracting(Line::client).containsOnly("sub");
    }
  }

  @Test
  void withQoS0ItIsDeliveredOnceItIsWritten() {
    try (var subscriber = online("sub");
        var publisher = online("pub");
        Followed trace = Followed.topic(api, "zero")) {
      subscriber.subscribe("zero", 0);
      publisher.publish("zero", 0, 0, "payload");
      subscriber.take();

      assertThat(steps(trace.until("session delivered")))
          .containsExactly("publish received", "publish handed-on", "routes forwarded", "session received", "session delivered");
    }
  }

  @Test
  void withoutSubscribersThePublisherHearsIt() {
    try (Followed trace = Followed.topic(api, "unheard")) {
      publish("unheard", "payload");

      assertThat(what(trace.until(line -> line.step().equals("answered"))))
          .containsExactly("publish received", "publish handed-on", "routes unmatched", "publish answered " + ReasonCode.NO_MATCHING_SUBSCRIBERS.label());
    }
  }

  @Test
  void whatWaitsForItsClientIsQueuedAndWhatTheInboxKeepsIsReturned() {
    try (Followed trace = Followed.topic(api, "durable")) {
      try (var subscriber = RawClient.connected(broker.port(), Connect.of("durable").receiveMaximum(1))) {
        subscriber.subscribe("durable", 1);
        publish("durable", "1");
        publish("durable", "2");
        assertThat(of("inbox", trace.until("session queued"))).extracting(Line::step, Line::client).containsOnly(tuple("stored", "durable"));
      }
      trace.until("session returned");
      try (var back = RawClient.connected(broker.port(), Connect.of("durable"))) {
        back.take();
        back.take();
        trace.until("session delivered");
      }
    }
  }

  @Test
  void aRetainedMessageIsNotedAndSoIsWhyOneIsNot() {
    try (Followed trace = Followed.topic(api, "kept/#");
        var publisher = online("pub")) {
      publisher.publishAndWait("kept/1", "payload", true);
      assertThat(what(trace.until("publish retained"))).contains("publish received", "publish handed-on");

      assertThat(publisher.publishAndWait("kept/2", "payload", true)).isEqualTo(QUOTA_EXCEEDED);
      List<Line> lines = trace.until("publish not-retained quota-exceeded");
      assertThat(lines).filteredOn(line -> line.step().equals("not-retained")).extracting(Line::topic).containsExactly("kept/2");
      publisher.publishAndWait("kept/1", "", true);
    }
  }

  @Test
  void aMessageThatIsAgainstTheRulesOfMqttIsRefused() {
    try (Followed trace = Followed.topic(api, "refused");
        var publisher = online("pub")) {
      publisher.publish("refused", 2, 5, "its exchange goes on");
      publisher.next(RawClient.PUBREC);
      publisher.publish("refused", 1, 5, "the same packet identifier");
      assertThat(publisher.next(RawClient.PUBACK).reason()).isEqualTo(ReasonCode.PACKET_IDENTIFIER_IN_USE.code());

      assertThat(what(trace.lines()).getLast()).isEqualTo("publish refused packet-identifier-in-use");
    }
  }

  @Test
  void anOwnMessageIsLeftOutByNoLocal() {
    try (Followed trace = Followed.topic(api, "own");
        var client = online("own")) {
      client.subscribe("own", 1 | NO_LOCAL);
      client.publishAndWait("own", "payload");

      assertThat(trace.until("session left-out no-local")).filteredOn(line -> line.hop().equals("session")).extracting(Line::client).containsExactly("own");
    }
  }

  @Test
  void aWillIsFollowed() {
    try (Followed trace = Followed.topic(api, "will")) {
      RawClient.connected(broker.port(), Connect.of("dying").expiry(0).will("will", "payload", 1, 0)).reset();

      assertThat(trace.until(line -> line.step().equals("answered"))).extracting(Line::publisher).containsOnly("dying");
    }
  }

  // ------------------------------------------------------------------------------------------------- each reason for a drop

  @Test
  void aPublishThatRulesDeny() throws Exception {
    List<Line> lines =
        dropped(publishes(), "publish", DropReason.NOT_AUTHORIZED, "closed/#", () -> assertThat(publish("closed/1", "payload")).isEqualTo(NOT_AUTHORIZED));
    assertThat(what(lines)).containsExactly("publish received", "publish dropped not-authorized");
  }

  @Test
  void aCopyThatRulesWithhold() throws Exception {
    try (var subscriber = online("withheld")) {
      subscriber.subscribe("#", 1);
      List<Line> lines = dropped(copies(), "session", DropReason.NOT_AUTHORIZED, "secret/#", () -> publish("secret/1", "payload"));
      assertThat(lines).filteredOn(line -> line.hop().equals("session")).extracting(Line::client).containsOnly("withheld");
    }
  }

  @Test
  void aQueueThatIsFull() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("slow").expiry(0).receiveMaximum(1))) {
      slow.subscribe("full", 1);
      List<Line> lines =
          dropped(
              copies(), "session", DropReason.QUEUE_FULL, "full",
              () -> {
                for (int i = 1; i <= 4; i++) publish("full", Integer.toString(i));
              });
      assertThat(what(lines).stream().filter(each -> each.equals("session queued"))).hasSize(2);
    }
  }

  @Test
  void aMessageThatHasExpiredWhileItWaited() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("late").expiry(0).receiveMaximum(1));
        var publisher = online("pub")) {
      slow.subscribe("expiring", 1);
      dropped(
          copies(), "session", DropReason.EXPIRED, "expiring",
          () -> {
            publisher.publishAndWait("expiring", "first");
            byte[] expiry = RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(1));
            publisher.send(RawClient.PUBLISH | 2, "expiring", RawClient.u16(9), RawClient.properties(expiry), "second".getBytes(StandardCharsets.UTF_8));
            assertThat(publisher.next(RawClient.PUBACK).packetId()).isEqualTo(9);
            await().pollDelay(Duration.ofMillis(1_100)).atMost(TestBroker.SOON).until(() -> true);
            slow.take();
          });
    }
  }

  @Test
  void aMessageThatIsLargerThanItsClientTakes() throws Exception {
    try (var small = online("small", RawClient.maximumPacketSize(100))) {
      small.subscribe("large", 1);
      dropped(copies(), "session", DropReason.PACKET_TOO_LARGE, "large", () -> publish("large", "x".repeat(200)));
    }
  }

  @Test
  void aMessageOfQoS0ForASocketThatTakesNoMore() throws Exception {
    String payload = "x".repeat(60_000);
    try (var slow = new RawClient(broker.port(), 4 * 1_024);
        var publisher = online("pub")) {
      slow.connect(RawClient.connect(5, true, 0, "unread", RawClient.noProperties()));
      slow.subscribe("unread", 0);
      dropped(
          copies(), "session", DropReason.NOT_WRITABLE, "unread",
          () -> {
            long before = copies().dropped(DropReason.NOT_WRITABLE);
            while (copies().dropped(DropReason.NOT_WRITABLE) == before) {
              publisher.publish("unread", 0, 0, payload);
              publisher.publishAndWait("pace", "");
            }
          });
    }
  }

  @Test
  void aSessionThatEndsWhileAMessageIsOnItsWay() throws Exception {
    dropped(
        copies(), "session", DropReason.SESSION_ENDED, "unacknowledged",
        () -> {
          try (var leaving = online("leaving")) {
            leaving.subscribe("unacknowledged", 1);
            publish("unacknowledged", "payload");
            leaving.message();
          }
        });
  }

  @Test
  void aGroupWithoutAMemberThatTakesIt() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("member").expiry(0).receiveMaximum(1))) {
      slow.subscribe("$share/team/group", 1);
      List<Line> lines =
          dropped(
              copies(), "session", DropReason.NO_MEMBER, "group",
              () -> {
                for (int i = 1; i <= 3; i++) publish("group", Integer.toString(i));
                assertThat(publish("group", "4")).isEqualTo(QUOTA_EXCEEDED);
              });
      assertThat(what(lines)).contains("session waits $share/team/group", "publish dropped no-member", "publish answered quota-exceeded");
    }
  }

  // ------------------------------------------------------------------------------------- each reason for a drop in an inbox

  /** As the metrics have it. */
  private static long inInboxes(String reason) {
    String name = "dunlin_inbox_dropped_total{";
    try (var http = HttpClient.newHttpClient()) {
      String text = http.send(HttpRequest.newBuilder(URI.create(api.address() + "/metrics")).build(), BodyHandlers.ofString()).body();
      String line = text.lines().filter(each -> each.startsWith(name) && each.contains("reason=\"" + reason + "\"")).findFirst().orElseThrow();
      return (long) Double.parseDouble(line.substring(line.lastIndexOf(' ')));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Follows a topic while something is done; the trace and the counter say that one more was dropped in an inbox, for this reason. */
  private static Line droppedInInbox(String reason, String topic, ThrowingRunnable action) throws Exception {
    long before = inInboxes(reason);
    try (Followed trace = Followed.topic(api, topic)) {
      action.run();
      List<Line> drops = trace.until("inbox dropped " + reason).stream().filter(line -> line.hop().equals("inbox") && line.step().equals("dropped")).toList();
      assertThat(drops).hasSize(1);
      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(inInboxes(reason) - before).isEqualTo(1));
      return drops.getFirst();
    }
  }

  /** Leaves a durable session with a subscription. */
  private static void absent(String clientId, String filter) {
    RawClient.connected(broker.port(), Connect.of(clientId)).disconnectAfter(client -> client.subscribe(filter, 1));
    await().atMost(TestBroker.SOON).until(() -> api.get("/sessions/" + clientId).member("connected").equals("false"));
  }

  @Test
  void theOldestOfAFullInbox() throws Exception {
    absent("oldest", "oldest");
    Line line =
        droppedInInbox(
            "oldest", "oldest",
            () -> {
              for (int i = 1; i <= 3; i++) publish("oldest", Integer.toString(i));
            });
    assertThat(line.client()).isEqualTo("oldest");
  }

  @ParameterizedTest
  @CsvSource({"drop-newest, newest", "reject, rejected"})
  void aMessageThatAFullInboxDoesNotTake(String overflow, String reason) {
    Path data = directory.resolve(overflow);
    try (TestBroker other =
            TestBroker.on(
                data,
                Map.of("dunlin.inbox.messages-max", "1", "dunlin.inbox.overflow", overflow, "dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
        ApiCalls asked = ApiCalls.of(data);
        var publisher = RawClient.connected(other.port(), Connect.of("publisher").expiry(0))) {
      RawClient.connected(other.port(), Connect.of("full")).disconnectAfter(client -> client.subscribe("full", 1));
      publisher.publishAndWait("full", "first");
      String id = asked.post("/traces", "{\"topic\":\"full\"}").member("trace");
      publisher.publishAndWait("full", "second");

      await().atMost(TestBroker.SOON).untilAsserted(
          () ->
              assertThat(asked.get("/traces/" + id + "/lines").json().getAsJsonArray("lines").asList().stream().map(Line::of))
                  .filteredOn(line -> line.hop().equals("inbox"))
                  .extracting(Line::what, Line::client)
                  .containsExactly(tuple("inbox dropped " + reason, "full")));
    }
  }

  @Test
  void aMessageThatExpiresInItsInbox() throws Exception {
    absent("patient", "in-vain");
    try (var publisher = online("pub")) {
      Line line =
          droppedInInbox(
              "expired", "in-vain",
              () -> {
                byte[] expiry = RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(1));
                publisher.send(RawClient.PUBLISH | 2, "in-vain", RawClient.u16(9), RawClient.properties(expiry), "x".getBytes(StandardCharsets.UTF_8));
                publisher.next(RawClient.PUBACK);
              });
      assertThat(line.client()).isEqualTo("patient");
    }
  }

  @Test
  void whatASessionLeavesWhenItEnds() throws Exception {
    absent("deleted", "left-behind");
    publish("left-behind", "payload");
    droppedInInbox("session-ended", "left-behind", () -> assertThat(api.delete("/sessions/deleted").status()).isEqualTo(200));
  }

  @Test
  void whatWaitsForAGroupWhenItsLastMemberLeaves() throws Exception {
    absent("last-member", "$share/ending/for-group");
    publish("for-group", "payload");
    droppedInInbox("group-ended", "for-group", () -> assertThat(api.delete("/sessions/last-member").status()).isEqualTo(200));
  }

  @Test
  void aMessageOfQoS0ForAnAbsentClient() throws Exception {
    absent("away", "offline");
    try (var publisher = online("pub")) {
      assertThat(droppedInInbox("offline", "offline", () -> publisher.publish("offline", 0, 0, "payload")).client()).isEqualTo("away");
    }
  }

  // ---------------------------------------------------------------------------------------------------------- what is followed

  @Test
  void aClientIsFollowedWhereItPublishesAndWhereItReceives() {
    try (var client = online("followed");
        var other = online("other");
        Followed trace = Followed.by(api, "client", "followed")) {
      for (var each : List.of(client, other)) each.subscribe("both", 0);
      client.publishAndWait("both", "mine");
      other.publishAndWait("both", "theirs");
      other.publishAndWait("elsewhere", "theirs");
      List<Line> lines = trace.until(line -> line.publisher().equals("other") && line.step().equals("delivered"));

      assertThat(lines.stream().filter(line -> line.publisher().equals("other"))).extracting(Line::client).containsOnly("followed");
      assertThat(lines.stream().filter(line -> line.publisher().equals("followed") && line.hop().equals("session")).map(Line::client))
          .as("also where others receive what it publishes").contains("followed", "other");
      assertThat(lines).extracting(Line::topic).containsOnly("both");
    }
  }

  @Test
  void anAddressIsFollowed() {
    try (Followed here = Followed.by(api, "remoteAddress", "127.0.0.1");
        Followed elsewhere = Followed.by(api, "remoteAddress", "10.0.0.1")) {
      publish("from/here", "payload");

      here.until(line -> line.topic().equals("from/here") && line.step().equals("answered"));
      assertThat(elsewhere.lines()).isEmpty();
    }
  }

  @Test
  void anotherTenantIsNotFollowed() {
    Answer begun = api.post("/traces", "{\"topic\":\"#\",\"tenant\":\"another\"}");
    try (Followed trace = new Followed(api, begun.member("trace"))) {
      publish("tenants", "payload");
      assertThat(trace.lines()).isEmpty();
    }
  }

  // ----------------------------------------------------------------------------------------------------------- by the API

  @Test
  void linesComeInPartsAndByAStreamThatEndsWithTheTrace() throws Exception {
    Followed trace = Followed.topic(api, "parts");
    try (ApiEvents events = api.events("/traces/" + trace.id())) {
      assertThat(events.status()).isEqualTo(200);
      publish("parts", "payload");
      assertThat(events.next().get("step").getAsString()).isEqualTo("received");
      trace.until(line -> line.step().equals("answered"));

      String lines = "/traces/" + trace.id() + "/lines";
      Answer first = api.get(lines + "?limit=3");
      assertThat(first.json().getAsJsonArray("lines")).hasSize(3);
      assertThat(first.json().get("running").getAsBoolean()).isTrue();
      Answer second = api.get(lines + "?cursor=" + first.member("next"));
      assertThat(second.json().getAsJsonArray("lines").asList().stream().map(Line::of).map(Line::step)).containsExactly("answered");
      assertThat(api.get(lines + "?cursor=" + second.member("next")).json().getAsJsonArray("lines")).isEmpty();
      assertThat(api.get("/traces").members("trace")).contains(trace.id());

      trace.close();
      assertThat(events.ends()).isTrue();
      assertThat(api.get(lines).json().get("running").getAsBoolean()).isFalse();
    }
  }

  @Test
  void beansSayTheSame() {
    TracesMXBean traces = broker.bean("Traces", TracesMXBean.class);
    String id = traces.start("default", "", "beans", "", 1).trace();
    publish("beans", "payload");
    new Followed(api, id).until(line -> line.step().equals("answered"));

    assertThat(traces.read(id, "", 10).lines()).extracting(TracesMXBean.TraceLine::step).isEqualTo(new Followed(api, id).lines().stream().map(Line::step).toList());
    assertThat(traces.list().traces()).extracting(TracesMXBean.TraceRow::trace).contains(id);
    assertThat(traces.stop(id)).isTrue();
    assertThat(traces.stop(id)).isFalse();
  }

  @Test
  void aViewerReadsButStartsNone() {
    try (Followed trace = Followed.topic(api, "viewed");
        ApiCalls asked = api.with(viewer)) {
      assertThat(asked.get("/traces/" + trace.id() + "/lines").status()).isEqualTo(200);
      assertThat(asked.post("/traces", "{\"topic\":\"viewed\"}").status()).isEqualTo(403);
      assertThat(asked.delete("/traces/" + trace.id()).status()).isEqualTo(403);
    }
  }

  @Test
  void noMoreThanFourRunAtATime() {
    List<Followed> running = new ArrayList<>();
    for (int i = 0; i < 4; i++) running.add(Followed.topic(api, "t" + i));

    Answer refused = api.post("/traces", "{\"topic\":\"more\"}");
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.member("detail")).contains("4 traces run already");
    running.forEach(Followed::close);
    Followed.topic(api, "more").close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}", "{\"topic\":\"a/#/b\"}", "{\"topic\":\"$share/g/a\"}", "{\"remoteAddress\":\"host.example\"}", "{\"topic\":\"a\",\"minutes\":0}",
        "{\"topic\":\"a\",\"minutes\":61}", "{\"topic\":\"a\",\"tenant\":\"\"}", "{\"topic\":\"a\",\"payload\":\"x\"}"
      })
  void whatCannotBeFollowedIsRefused(String body) {
    Answer answer = api.post("/traces", body);
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.member("detail")).isNotBlank();
  }

  @Test
  void aTraceThatIsNotThereIsNotFound() {
    assertThat(api.get("/traces/none/lines").status()).isEqualTo(404);
    assertThat(api.delete("/traces/none").status()).isEqualTo(404);
    try (ApiEvents events = api.events("/traces/none")) {
      assertThat(events.status()).isEqualTo(404);
    }
    try (Followed trace = Followed.topic(api, "a")) {
      assertThat(api.get("/traces/" + trace.id() + "/lines?cursor=~").status()).isEqualTo(400);
      assertThat(api.get("/traces/" + trace.id() + "/lines?cursor=eA").status()).as("an x, which no part has given").isEqualTo(400);
      assertThat(api.get("/traces/" + trace.id() + "/lines?limit=1001").status()).isEqualTo(400);
    }
  }
}
