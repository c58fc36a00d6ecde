package dunlin.losses;

import static dunlin.harness.Followed.what;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.Counted;
import dunlin.harness.Followed;
import dunlin.harness.Followed.Line;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each reason for which a message is dropped: real clients make it happen, and the counter, a trace and {@code explain} say the same. */
class DropReasonsIT {
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

  @BeforeAll
  static void start() throws IOException {
    Path rules = Files.writeString(directory.resolve("acl"), RULES);
    broker =
        TestBroker.on(
            directory.resolve("data"),
            Map.of(
                "dunlin.auth.acl-file", rules.toString(), "dunlin.session.queue-messages-max", "2", "dunlin.session.outbound-max", "64KiB",
                "dunlin.shared.wait", "200ms", "dunlin.retain.messages-max", "1", "dunlin.inbox.messages-max", "2", "dunlin.store.fsync", "false",
                "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory.resolve("data"));
  }

  @AfterAll
  static void stop() {
    api.close();
    broker.close();
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

  /** Whether {@code explain} says of a message to a client, which has subscribed to its identifier, that it is dropped at its queue. */
  private static boolean explainedAsDropped(String clientId, String more) {
    Answer answer = api.get("/explain?client=" + clientId + "&topic=" + clientId + more);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.member("conclusion").equals("dropped") && answer.member("reason").startsWith("The socket takes no more");
  }

  // ------------------------------------------------------------------------------------------------- each reason for a drop

  @Test
  @Tag("drop:publish:not-authorized")
  void aPublishThatRulesDeny() throws Exception {
    List<Line> lines =
        dropped(publishes(), "publish", DropReason.NOT_AUTHORIZED, "closed/#", () -> assertThat(publish("closed/1", "payload")).isEqualTo(NOT_AUTHORIZED));
    assertThat(what(lines)).containsExactly("publish received", "publish dropped not-authorized");
  }

  @Test
  @Tag("drop:session:not-authorized")
  void aCopyThatRulesWithhold() throws Exception {
    try (var subscriber = online("withheld")) {
      subscriber.subscribe("#", 1);
      List<Line> lines = dropped(copies(), "session", DropReason.NOT_AUTHORIZED, "secret/#", () -> publish("secret/1", "payload"));
      assertThat(lines).filteredOn(line -> line.hop().equals("session")).extracting(Line::client).containsOnly("withheld");
    }
  }

  @Test
  @Tag("drop:session:queue-full")
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
  @Tag("drop:session:expired")
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
  @Tag("drop:session:packet-too-large")
  void aMessageThatIsLargerThanItsClientTakes() throws Exception {
    try (var small = online("small", RawClient.maximumPacketSize(100))) {
      small.subscribe("large", 1);
      dropped(copies(), "session", DropReason.PACKET_TOO_LARGE, "large", () -> publish("large", "x".repeat(200)));
    }
  }

  @Test
  @Tag("drop:session:not-writable")
  @Tag("explain:session:not-writable")
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
            do {
              publisher.publish("unread", 0, 0, payload);
              publisher.publishAndWait("pace", "");
            } while (copies().dropped(DropReason.NOT_WRITABLE) == before || !explainedAsDropped("unread", "&qos=0"));
          });
    }
  }

  @Test
  @Tag("drop:session:session-ended")
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
  @Tag("drop:session:no-member")
  @Tag("drop:publish:no-member")
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

  @Test
  @Tag("drop:publish:retained-full")
  void aMessageForWhichThereAreTooManyRetainedOnes() throws Exception {
    try (var publisher = online("pub")) {
      assertThat(publisher.publishAndWait("retained/1", "payload", true)).isLessThan(0x80);
      List<Line> lines =
          dropped(
              publishes(), "publish", DropReason.RETAINED_FULL, "retained/2",
              () -> assertThat(publisher.publishAndWait("retained/2", "payload", true)).isEqualTo(QUOTA_EXCEEDED));
      assertThat(what(lines)).contains("publish not-retained quota-exceeded");
      publisher.publishAndWait("retained/1", "", true);
    }
  }

  // ------------------------------------------------------------------------------------- each reason for a drop in an inbox

  /** As the metrics have it. */
  private static long inInboxes(String reason) {
    return Counted.of(api, "dunlin_inbox_dropped_total", List.of("reason=\"" + reason + '"'));
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
  @Tag("drop:inbox:oldest")
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

  @Test
  @Tag("drop:inbox:newest")
  void aMessageThatAFullInboxDoesNotTake() throws Exception {
    withFullInbox(
        "drop-newest",
        (publisher, publishes) -> {
          assertThat(publisher.publishAndWait("full", "second")).isZero();
          return publishes.dropped() == 0;
        },
        "inbox dropped newest");
  }

  @Test
  @Tag("drop:inbox:rejected")
  @Tag("drop:publish:queue-full")
  void aMessageThatAFullInboxRejectsAndItsPublisherHearsIt() throws Exception {
    withFullInbox(
        "reject",
        (publisher, publishes) -> {
          assertThat(publisher.publishAndWait("full", "second")).isEqualTo(QUOTA_EXCEEDED);
          return publishes.dropped(DropReason.QUEUE_FULL) == 1 && publishes.dropped() == 1;
        },
        "inbox dropped rejected", "publish dropped queue-full", "publish answered quota-exceeded");
  }

  @Test
  @Tag("drop:inbox:tenant-full")
  void aMessageBeyondWhatTheInboxesOfItsTenantMayHold() throws Exception {
    String half = "x".repeat(40_000);
    withFullInbox(
        "tenant-full", Map.of("dunlin.tenants.limits", "inbox-bytes=64KiB", "dunlin.inbox.overflow", "drop-newest"), half,
        (publisher, publishes) -> {
          assertThat(publisher.publishAndWait("full", half)).isZero();
          return publishes.dropped() == 0;
        },
        "inbox dropped tenant-full");
  }

  /** Publishes to a full inbox; answers whether the ledger of publishes is as it should be then. */
  private interface Publishing {
    boolean publish(RawClient publisher, HopLedger publishes);
  }

  private static void withFullInbox(String overflow, Publishing publishing, String... lines) throws Exception {
    withFullInbox(overflow, Map.of("dunlin.inbox.messages-max", "1", "dunlin.inbox.overflow", overflow), "first", publishing, lines);
  }

  /**
   * @param first the message by which the inbox is full
   * @param lines those of the trace that say what became of the next message, in any order
   */
  private static void withFullInbox(String name, Map<String, String> settings, String first, Publishing publishing, String... lines) throws Exception {
    Path data = directory.resolve(name);
    var all = new HashMap<>(settings);
    all.putAll(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    try (TestBroker other = TestBroker.on(data, all);
        ApiCalls asked = ApiCalls.of(data);
        var publisher = RawClient.connected(other.port(), Connect.of("publisher").expiry(0))) {
      RawClient.connected(other.port(), Connect.of("full")).disconnectAfter(client -> client.subscribe("full", 1));
      await().atMost(TestBroker.SOON).until(() -> asked.get("/sessions/full").member("connected").equals("false"));
      publisher.publishAndWait("full", first);
      try (Followed trace = Followed.topic(asked, "full")) {
        assertThat(publishing.publish(publisher, other.frontend().publishes())).isTrue();

        await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(what(trace.lines())).contains(lines));
        assertThat(trace.lines()).filteredOn(line -> line.hop().equals("inbox")).extracting(Line::client).containsExactly("full");
      }
    }
  }

  @Test
  @Tag("drop:inbox:expired")
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
  @Tag("drop:inbox:session-ended")
  void whatASessionLeavesWhenItEnds() throws Exception {
    absent("deleted", "left-behind");
    publish("left-behind", "payload");
    droppedInInbox("session-ended", "left-behind", () -> assertThat(api.delete("/sessions/deleted").status()).isEqualTo(200));
  }

  @Test
  @Tag("drop:inbox:group-ended")
  void whatWaitsForAGroupWhenItsLastMemberLeaves() throws Exception {
    absent("last-member", "$share/ending/for-group");
    publish("for-group", "payload");
    droppedInInbox("group-ended", "for-group", () -> assertThat(api.delete("/sessions/last-member").status()).isEqualTo(200));
  }

  @Test
  @Tag("drop:inbox:offline")
  void aMessageOfQoS0ForAnAbsentClient() throws Exception {
    absent("away", "offline");
    try (var publisher = online("pub")) {
      assertThat(droppedInInbox("offline", "offline", () -> publisher.publish("offline", 0, 0, "payload")).client()).isEqualTo("away");
    }
  }
}
