package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.Publication;
import dunlin.model.Publication.Exchange;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** QoS 2 messages of a durable publisher to subscribers in several ranges. */
final class ExchangesTest {
  private static final int RANGES = 3;

  private InboxNode node;
  private String publisher = "";
  private List<String> subscribers = List.of();

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, RANGES, InboxSettings.defaults());
    publisher = node.clients("p").get(1);
    subscribers = node.clients("s");
    for (String each : subscribers) node.subscribe(node.connect(each).session(), "a", QoS.EXACTLY_ONCE);
  }

  @AfterEach
  void close() {
    node.close();
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 40) : LongStream.of(seed);
  }

  private Publication message(SessionRef session, int packetId, String payload) {
    byte[] body = ("a" + payload).getBytes(StandardCharsets.UTF_8);
    var exchange = new Exchange(session.epoch(), packetId);
    return new Publication(new Publisher(InboxNode.TENANT, publisher), QoS.EXACTLY_ONCE, false, node.now.get(), -1, -1, 1, 0, body, exchange);
  }

  private ReasonCode publish(SessionRef session, int packetId, String payload) throws Exception {
    var answer = new InboxNode.Answer();
    node.deliver(message(session, packetId, payload), List.of(), answer);
    return InboxNode.get(answer.reason);
  }

  /** The messages in a subscriber's inbox. */
  private List<String> inbox(String subscriber) throws Exception {
    var connected = node.connect(subscriber);
    var page = InboxNode.get(node.server.fetch(connected.session(), connected.firstUnacknowledged(), 10_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  private void assertInboxes(String... payloads) throws Exception {
    for (String each : subscribers) assertThat(inbox(each)).as(each).containsExactly(payloads);
  }

  private static boolean isRecorded(Connected connected, int packetId) {
    return Arrays.stream(connected.receivedPacketIds()).anyMatch(id -> id == packetId);
  }

  @Test
  void anExchangeIsRecordedWhenAllOtherRangesHaveTheMessage() throws Exception {
    var session = node.connect(publisher).session();
    node.local().refusing = SessionCommand.AppendOfExchange.class;
    assertThat(publish(session, 1, "m")).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(node.gauge("dunlin.inbox.queued")).isZero();
    // Its line ends after its answer.
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.exchanges-waiting")).isZero());
    node.local().refusing = null;

    var again = node.connect(publisher);
    assertThat(isRecorded(again, 1)).isFalse();
    assertThat(publish(again.session(), 1, "m")).isEqualTo(ReasonCode.SUCCESS);

    assertThat(isRecorded(node.connect(publisher), 1)).isTrue();
    assertInboxes("m");
  }

  @Test
  void aMessageRepeatedAfterACrashBeforeItIsRecordedIsStoredOnceEverywhere() throws Exception {
    var session = node.connect(publisher).session();
    node.local().refusing = SessionCommand.Append.class;
    assertThat(publish(session, 1, "m")).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(2);
    node.local().refusing = null;
    node.reopen();
    assertThat(node.gauge("dunlin.inbox.exchanges-foreign")).isEqualTo(2);

    var again = node.connect(publisher);
    assertThat(isRecorded(again, 1)).isFalse();
    assertThat(publish(again.session(), 1, "m")).isEqualTo(ReasonCode.SUCCESS);

    assertInboxes("m");
  }

  @Test
  void aReleasedPacketIdentifierCanBeUsedForAnotherMessage() throws Exception {
    var session = node.connect(publisher).session();
    assertThat(publish(session, 1, "m1")).isEqualTo(ReasonCode.SUCCESS);
    InboxNode.get(node.server.released(session, session.epoch(), 1));
    assertThat(node.gauge("dunlin.inbox.exchanges-foreign")).isZero();

    assertThat(publish(session, 1, "m2")).isEqualTo(ReasonCode.SUCCESS);

    assertInboxes("m1", "m2");
  }

  @Test
  void aReleaseThatOneRangeRefusesFails() throws Exception {
    var session = node.connect(publisher).session();
    assertThat(publish(session, 1, "m")).isEqualTo(ReasonCode.SUCCESS);
    node.local().refusing = SessionCommand.ForgetExchange.class;

    assertThat(node.server.released(session, session.epoch(), 1)).failsWithin(InboxNode.PATIENCE).withThrowableOfType(ExecutionException.class);

    node.local().refusing = null;
    assertThat(isRecorded(node.connect(publisher), 1)).isTrue();
  }

  @Test
  void aLaterSessionOfTheSameClientHasItsOwnExchanges() throws Exception {
    var session = node.connect(publisher).session();
    assertThat(publish(session, 1, "m1")).isEqualTo(ReasonCode.SUCCESS);
    var clean = new Connect(InboxNode.TENANT, publisher, "", new ConnectionId("node", node.incarnation, 900), true, true, 3600, null);
    var later = InboxNode.get(node.server.connect(clean)).session();

    assertThat(publish(later, 1, "m2")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(publish(session, 1, "m3")).as("of the earlier one").isEqualTo(ReasonCode.SESSION_TAKEN_OVER);

    assertInboxes("m1", "m2");
  }

  @Test
  void theExchangesOfAnEndedSessionAreForgotten() throws Exception {
    var session = node.connect(publisher).session();
    assertThat(publish(session, 1, "m")).isEqualTo(ReasonCode.SUCCESS);
    node.reopen();
    assertThat(node.gauge("dunlin.inbox.exchanges-foreign")).isEqualTo(2);

    assertThat(node.server.operations().delete(InboxNode.TENANT, publisher, 1)).isEqualTo(1);

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.exchanges-foreign")).isZero());
    assertInboxes("m");
  }

  @Test
  void aMessageForThePublishersOwnRangeWaitsForEarlierMessages() throws Exception {
    var session = node.connect(publisher).session();
    node.local().full = true;
    var first = new InboxNode.Answer();
    node.deliver(message(session, 1, "m1"), List.of(), first);
    String own = subscribers.get(1);
    for (String each : subscribers) {
      if (!each.equals(own)) node.routes.removeIf(route -> route.startsWith(node.server.shardOf(InboxNode.TENANT, each).toString() + " "));
    }
    var second = new InboxNode.Answer();
    node.deliver(message(session, 2, "m2"), List.of(), second);
    assertThat(node.gauge("dunlin.inbox.exchanges-waiting")).isEqualTo(1);

    node.local().hasRoom();

    assertThat(InboxNode.get(first.reason)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(InboxNode.get(second.reason)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(inbox(own)).containsExactly("m1", "m2");
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.exchanges-waiting")).isZero());
  }

  /**
   * The publisher repeats each message over its next connections until it is acknowledged, and then repeats PUBREL
   * until that is answered.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void eachSubscriberGetsEachMessageOnceAndInOrderWhateverFails(long seed) throws Exception {
    var random = new Random(seed);
    List<Class<?>> steps =
        List.of(SessionCommand.Append.class, SessionCommand.AppendOfExchange.class, SessionCommand.ForgetExchange.class, SessionCommand.Released.class);
    var published = new ArrayList<String>();
    var connected = node.connect(publisher);
    for (int i = 0; i < 12; i++) {
      String payload = "m" + i;
      int packetId = 1 + i % 3;
      published.add(payload);
      for (int attempts = 0; !isRecorded(connected, packetId); attempts++) {
        fail(random, steps, attempts);
        var reason = publish(connected.session(), packetId, payload);
        repair(random);
        if (reason == ReasonCode.SUCCESS && random.nextBoolean()) break;
        connected = node.connect(publisher);
      }
      for (int attempts = 0; ; attempts++) {
        fail(random, steps, attempts);
        boolean released = InboxNode.get(node.server.released(connected.session(), connected.birth(), packetId).handle((_, failure) -> failure == null));
        repair(random);
        connected = node.connect(publisher);
        if (released) break;
      }
      assertThat(isRecorded(connected, packetId)).as("seed " + seed).isFalse();
    }

    for (String each : subscribers) assertThat(inbox(each)).as("seed " + seed).isEqualTo(published);
    assertThat(node.gauge("dunlin.inbox.exchanges-foreign")).as("seed " + seed).isZero();
  }

  private void fail(Random random, List<Class<?>> steps, int attempts) {
    if (attempts > 2) return;
    if (random.nextInt(3) == 0) node.local().refusing = steps.get(random.nextInt(steps.size()));
    if (random.nextInt(3) == 0) node.local().silent = steps.get(random.nextInt(steps.size()));
  }

  private void repair(Random random) throws Exception {
    node.local().refusing = null;
    node.local().silent = null;
    if (random.nextInt(3) == 0) node.reopen();
  }
}
