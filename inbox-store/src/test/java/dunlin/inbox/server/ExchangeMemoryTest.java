package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publication.Exchange;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.memory.HeapGuard;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that leave QoS 2 exchanges open, as those of MQTT 3 may: it has no Receive Maximum. */
final class ExchangeMemoryTest {
  private static final int MEMORY_MAX = 4 << 20;

  /** What the exchanges of the only range may take. */
  private static final long MOST = MEMORY_MAX / 4;

  /** An open exchange without picks, and its packet identifier. */
  private static final long OPEN = 256 + 8;

  private static final long PICK = 64;
  private static final int IDENTIFIERS = 65_535;
  private static final long FENCE = 77;
  private static final InboxSettings SMALL = withMemory(MEMORY_MAX);

  private InboxNode node;
  private SessionRef subscriber;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, SMALL);
    subscriber = node.connect("subscriber").session();
    node.subscribe(subscriber, "a", QoS.EXACTLY_ONCE);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static InboxSettings withMemory(long memory) {
    var usual = InboxSettings.defaults();
    return new InboxSettings(
        usual.layout(), usual.messagesMax(), usual.bytesMax(), usual.overflow(), usual.subscriptionsMax(), usual.groupWindow(),
        new InboxSettings.Sums(usual.sums().sessions(), memory, usual.sums().messageBytes()));
  }

  private static final class Answer extends Acknowledgement {
    private final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();
    private final Terms terms;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode code) {
      reason.complete(code);
    }
  }

  private static Terms.Origin origin(int packetId, List<Long> picked) {
    return new Terms.Origin(9, packetId, 1, false, picked);
  }

  private static List<Long> picks(int count) {
    return LongStream.range(1, 1L + count).map(i -> i << 33).boxed().toList();
  }

  private ReasonCode publish(SessionRef session, int packetId, Terms terms) throws Exception {
    byte[] body = ("a" + session.clientId() + packetId).getBytes(StandardCharsets.UTF_8);
    var message =
        new Publication(
            new Publisher(InboxNode.TENANT, session.clientId()), QoS.EXACTLY_ONCE, false, node.now.get(), -1, -1, 1, 0, body, new Exchange(session.epoch(), packetId));
    var answer = new Answer(terms);
    node.deliver(message, List.of(), answer);
    return InboxNode.get(answer.reason);
  }

  /** Publishes for a client of MQTT 3, whose connection is closed when that is refused. */
  private ReasonCode publish(SessionRef session, int packetId) throws Exception {
    return publish(session, packetId, Terms.disconnecting(FENCE + session.epoch()).from(origin(packetId, List.of())));
  }

  /** Publishes with one packet identifier after the other until it is refused. Answers how many were taken. */
  private int hoard(SessionRef session, int picked) throws Exception {
    for (int packetId = 1; packetId <= IDENTIFIERS; packetId++) {
      var reason = publish(session, packetId, Terms.disconnecting(FENCE + session.epoch()).from(origin(packetId, picks(picked))));
      if (reason == ReasonCode.SUCCESS) continue;
      assertThat(reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
      return packetId - 1;
    }
    return IDENTIFIERS;
  }

  private void release(SessionRef session, long birth, int packetId) throws Exception {
    InboxNode.get(node.server.released(session, birth, packetId));
  }

  private long held() {
    return (long) node.gauge("dunlin.inbox.exchange-memory");
  }

  private double refused(String reason) {
    return node.count("dunlin.inbox.refused", "reason", reason);
  }

  private List<String> inbox() throws Exception {
    var connected = node.connect("subscriber");
    var page = InboxNode.get(node.server.fetch(connected.session(), connected.firstUnacknowledged(), 100_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  @Test
  void onAFullHeapALittleIsLeftForEachClient() throws Exception {
    var one = node.connect("one").session();
    var two = node.connect("two").session();
    var heap = new HeapGuard(() -> new HeapGuard.Found(0.9, HeapGuard.Found.EXACT, 0), 80);
    heap.look();
    node.server.guard(heap);

    for (var session : List.of(one, two)) assertThat(hoard(session, 0) * OPEN).isBetween(8_192L, 8_192 + OPEN);
  }

  @Test
  void aClientThatReleasesNothingIsRefusedAndAllOthersGoOn() throws Exception {
    var hoarder = node.connect("hoarder").session();
    int taken = hoard(hoarder, 0);
    assertThat(taken * OPEN).isBetween(MOST / 4, MOST / 4 + OPEN);
    assertThat(held()).isEqualTo(taken * OPEN);
    assertThat(refused("exchanges")).isEqualTo(1);
    assertThat(publish(hoarder, taken + 2)).as("behind the refused one, which the client sends again first").isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(refused("fenced")).isEqualTo(1);

    var expected = new ArrayList<>(IntStream.rangeClosed(1, taken).mapToObj(i -> "hoarder" + i).toList());
    var wellBehaved = node.connect("window");
    for (int packetId = 1; packetId <= 200; packetId++) { // 20 in flight, as Paho has
      assertThat(publish(wellBehaved.session(), packetId)).isEqualTo(ReasonCode.SUCCESS);
      expected.add("window" + packetId);
      if (packetId > 20) release(wellBehaved.session(), wellBehaved.birth(), packetId - 20);
    }
    assertThat(node.subscribe(wellBehaved.session(), "b", QoS.AT_LEAST_ONCE)).containsExactly(false);

    var again = node.connect("hoarder");
    assertThat(again.receivedPacketIds()).containsExactly(IntStream.rangeClosed(1, taken).toArray());
    for (int packetId : again.receivedPacketIds()) release(again.session(), again.birth(), packetId);
    assertThat(publish(again.session(), taken + 1)).isEqualTo(ReasonCode.SUCCESS);
    expected.add("hoarder" + (taken + 1));

    assertThat(inbox()).isEqualTo(expected);
    assertThat(held()).isEqualTo(21 * OPEN);
    node.assertBalance();
  }

  @Test
  void allTogetherHoldNoMoreThanTheyMay() throws Exception {
    for (int i = 0; i < 40; i++) {
      int taken = hoard(node.connect("hoarder" + i).session(), 0);
      assertThat(taken * OPEN).as("hoarder %d", i).isGreaterThanOrEqualTo(8_192);
    }
    assertThat(held()).isGreaterThan(MOST / 2).isLessThan(MOST);

    for (int i = 40; i < 100; i++) hoard(node.connect("hoarder" + i).session(), 0);

    assertThat(held()).isBetween(MOST, MOST + OPEN);
    assertThat(refused("exchanges")).isEqualTo(100);
    assertThat(node.subscribe(subscriber, "b", QoS.AT_LEAST_ONCE)).as("sessions and subscriptions have memory of their own").containsExactly(false);
  }

  /** A message goes to a frontend or an inbox for each shared subscription, which the record names. */
  @Test
  void whereMessagesWentForGroupsCounts() throws Exception {
    var hoarder = node.connect("hoarder").session();

    int taken = hoard(hoarder, 64);

    long each = OPEN + 64 * PICK;
    assertThat(taken * each).isBetween(MOST / 4, MOST / 4 + each);
    assertThat(held()).isEqualTo(taken * each);
  }

  @Test
  void exchangesGrowNoFurtherThanTheyMayWhenTheyAreRepeated() throws Exception {
    var hoarder = node.connect("hoarder").session();
    int taken = hoard(hoarder, 0);
    var again = node.connect("hoarder").session();
    int grown = 0;
    for (int packetId = 1; packetId <= taken; packetId++) {
      var reason = publish(again, packetId, Terms.ANSWERED.from(origin(packetId, picks(64)).asRepetition()));
      if (reason == ReasonCode.SUCCESS) grown++;
      else assertThat(reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    }

    assertThat(grown).isPositive();
    assertThat(held()).isBetween(MOST / 2, MOST / 2 + OPEN + 64 * PICK);
    assertThat(refused("exchanges")).isEqualTo(1 + taken - grown);
    assertThat(publish(again, taken, Terms.ANSWERED.from(origin(taken, List.of()).asRepetition()))).as("it adds nothing").isEqualTo(ReasonCode.SUCCESS);
    int others = hoard(node.connect("other").session(), 0);
    assertThat(others * OPEN).isGreaterThanOrEqualTo(8_192);
  }

  @Test
  void whatIsHeldIsTheSameAfterARestartAndStillBounded() throws Exception {
    var hoarder = node.connect("hoarder").session();
    int taken = hoard(hoarder, 3);
    var other = node.connect("other").session();
    for (int packetId = 1; packetId <= 5; packetId++) publish(other, packetId);
    InboxNode.get(node.server.delivered(other, List.of(1, 2)));
    long before = held();
    assertThat(before).isEqualTo(taken * (OPEN + 3 * PICK) + 5 * OPEN - 2 * 256);

    node.reopen(SMALL);

    assertThat(held()).isEqualTo(before);
    var again = node.connect("hoarder");
    assertThat(publish(again.session(), taken + 1)).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    for (int packetId = 1; packetId <= 10; packetId++) release(again.session(), again.birth(), packetId);
    var next = node.connect("hoarder"); // its connection was closed
    assertThat(publish(next.session(), taken + 1)).isEqualTo(ReasonCode.SUCCESS);
    InboxNode.get(node.server.remove(InboxNode.TENANT, "hoarder"));
    InboxNode.get(node.server.remove(InboxNode.TENANT, "other"));
    assertThat(held()).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void exchangesOfOtherRangesSessionsCountWhereTheirMessagesAre(int home) throws Exception {
    node.close();
    node = new InboxNode(null, 3, SMALL);
    for (String each : node.clients("s")) node.subscribe(node.connect(each).session(), "a", QoS.EXACTLY_ONCE);
    String publisher = node.clients("p").get(home);
    int taken = hoard(node.connect(publisher).session(), 0);

    long before = held();
    assertThat(taken).isLessThan(IDENTIFIERS);
    // Two ranges remember it beside that of its session; they come first, and know of the refused one.
    assertThat(before).isEqualTo(taken * (OPEN + 2 * 128) + 2 * 128);
    node.reopen(SMALL);

    assertThat(held()).isEqualTo(before);
    var again = node.connect(publisher);
    assertThat(Arrays.stream(again.receivedPacketIds()).count()).isEqualTo(taken);
    for (int packetId = 1; packetId <= taken; packetId++) release(again.session(), again.birth(), packetId);
    assertThat(publish(again.session(), taken + 1)).isEqualTo(ReasonCode.SUCCESS);
    release(again.session(), again.birth(), taken + 1);
    assertThat(held()).isZero();
  }
}
