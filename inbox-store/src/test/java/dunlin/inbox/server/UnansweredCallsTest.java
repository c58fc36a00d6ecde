package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.propose.UnansweredCalls;
import dunlin.model.QoS;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the SUBSCRIBEs and UNSUBSCRIBEs that all ranges of a node have not answered may take together. */
final class UnansweredCallsTest {
  private static final int MEMORY = 1 << 20;
  private static final int LIMIT = MEMORY / 8;
  private static final int FILTERS = 20;
  private static final int LENGTH = 100;

  /** What a SUBSCRIBE with as many filters of this length counts. */
  private static final int CALL = FILTERS * (256 + 2 * LENGTH);

  private static final InboxSettings SETTINGS =
      new InboxSettings(new Layout(16, 1), 1_000, 1 << 20, OverflowPolicy.REJECT, 1_000, 4, new Sums(1_000, MEMORY, 1 << 30));

  private InboxNode node;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, 2, SETTINGS);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private double held() {
    return node.meters.get("dunlin.inbox.unanswered").gauge().value();
  }

  private double refused() {
    return node.meters.get("dunlin.inbox.subscribes-refused").functionCounter().count();
  }

  private static List<Subscription> filters(String name) {
    return IntStream.range(0, FILTERS).mapToObj(i -> InboxNode.wanted(("%s/%02d/".formatted(name, i) + "f".repeat(LENGTH)).substring(0, LENGTH), QoS.AT_LEAST_ONCE)).toList();
  }

  private List<SessionRef> sessions() throws Exception {
    List<SessionRef> sessions = new ArrayList<>();
    for (int i = 0; i < 40; i++) sessions.add(node.connect("client" + i).session());
    return sessions;
  }

  /** Has all sessions subscribe; answers the calls that were not refused. */
  private List<CompletableFuture<List<Boolean>>> subscribe(List<SessionRef> sessions) {
    List<CompletableFuture<List<Boolean>>> taken = new ArrayList<>();
    for (SessionRef session : sessions) {
      var answer = node.server.subscribe(session, filters(session.clientId()));
      if (!answer.isDone()) taken.add(answer);
      else assertThatThrownBy(() -> InboxNode.get(answer)).hasCauseInstanceOf(StoreException.class);
    }
    return taken;
  }

  @Test
  void theyAreBoundedWhileTheRangesAreFull() throws Exception {
    var sessions = sessions();
    node.subscribe(sessions.getFirst(), "early", QoS.AT_LEAST_ONCE);
    node.local().full = true;

    var taken = subscribe(sessions);

    assertThat(taken).hasSize((LIMIT - 2 * CALL) / CALL + 1);
    assertThat(held()).isEqualTo(taken.size() * CALL).isLessThanOrEqualTo(LIMIT);
    assertThat(refused()).isEqualTo(sessions.size() - taken.size());
    var small = node.server.subscribe(sessions.getLast(), List.of(InboxNode.wanted("small", QoS.AT_LEAST_ONCE)));
    assertThat(small).as("a small one finds room").isNotDone();
    var early = List.of(InboxNode.wanted("early", QoS.AT_LEAST_ONCE).filter());
    List<CompletableFuture<List<Boolean>>> unsubscribed = IntStream.range(0, 1_000).mapToObj(_ -> node.server.unsubscribe(sessions.getFirst(), early)).toList();
    assertThat(unsubscribed).as("they are never refused").noneMatch(CompletableFuture::isDone);
    assertThat(held()).isEqualTo(taken.size() * CALL + 256 + 2 * 5 + 1_000 * (256 + 2 * 5));

    node.local().hasRoom();
    for (var answer : taken) assertThat(InboxNode.get(answer)).hasSize(FILTERS).containsOnly(false);
    assertThat(InboxNode.get(small)).containsExactly(false);
    assertThat(InboxNode.get(unsubscribed.getFirst())).containsExactly(true);
    assertThat(InboxNode.get(unsubscribed.getLast())).containsExactly(false);
    await().untilAsserted(() -> assertThat(held()).isZero());
    assertThat(InboxNode.get(node.server.subscribe(sessions.getLast(), filters("again")))).hasSize(FILTERS);
  }

  @Test
  void theyAreBoundedWhileRoutesAreNotAnnounced() throws Exception {
    var sessions = sessions();
    node.gate = new CompletableFuture<>();

    var taken = subscribe(sessions);

    assertThat(taken).hasSize((LIMIT - 2 * CALL) / CALL + 1);
    assertThat(held()).isEqualTo(taken.size() * CALL);
    node.gate.complete(null);
    for (var answer : taken) assertThat(InboxNode.get(answer)).hasSize(FILTERS);
    await().untilAsserted(() -> assertThat(held()).isZero());
  }

  @Test
  void whatFailsIsGivenBack() throws Exception {
    var sessions = sessions();
    node.local().broken = true;

    for (SessionRef session : sessions) {
      var answer = node.server.subscribe(session, filters(session.clientId()));
      assertThatThrownBy(() -> InboxNode.get(answer)).hasCauseInstanceOf(StoreException.class);
    }

    await().untilAsserted(() -> assertThat(held()).isZero());
    assertThat(refused()).isZero();
    node.local().broken = false;
  }

  /** Their frontends make them again at the next leader, and this node may be that again. */
  @Test
  void whatALeadershipLeavesUnansweredIsGivenBack() throws Exception {
    var calls = new UnansweredCalls(SETTINGS);
    var ended = calls.share();
    var next = calls.share();
    var late = new CompletableFuture<Void>();
    var _ = ended.subscribe(filters("a"), () -> late);
    var _ = ended.unsubscribe(List.of(filters("a").getFirst().filter()), CompletableFuture<Void>::new);
    var _ = next.subscribe(filters("b"), CompletableFuture<Void>::new);
    assertThat(calls.bytes()).isEqualTo(2 * CALL + CALL / FILTERS);

    ended.close();
    assertThat(calls.bytes()).isEqualTo(CALL);
    late.complete(null);
    var _ = ended.subscribe(filters("c"), CompletableFuture<Void>::new);
    ended.close();
    assertThat(calls.bytes()).isEqualTo(CALL);
  }

  @Test
  void aServerThatIsClosedGivesBackWhatWaitsForRoutes() throws Exception {
    var session = node.connect("c").session();
    node.gate = new CompletableFuture<>();
    var _ = node.server.subscribe(session, filters("c"));
    var sum = node.meters.get("dunlin.inbox.unanswered").gauge();
    await().until(() -> sum.value() == CALL);

    node.server.close();

    assertThat(sum.value()).isZero();
  }

  /** Else a client with many filters could never subscribe at a node with little memory. */
  @Test
  void aLargeOneIsTakenWhenNothingElseWaits() throws Exception {
    var session = node.connect("large").session();
    List<Subscription> many = IntStream.range(0, LIMIT / 256 + 1).mapToObj(i -> InboxNode.wanted("f" + i, QoS.AT_LEAST_ONCE)).toList();

    assertThat(InboxNode.get(node.server.subscribe(session, many))).hasSize(many.size());
  }
}
