package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The lane of a leader of the routes to the leader of the sessions, which changes. */
class RepeatingDeliveryTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Link.Settings LINK = new Link.Settings(1_000, 100_000, PATIENCE);

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final ArrayDeque<Runnable> later = new ArrayDeque<>();
  private final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
  private Terms terms = Terms.ANSWERED;
  private long nanos;
  private long identities = 2;
  private Sessions leader = new Sessions();
  private final RemoteDelivery delivery =
      new RemoteDelivery(this::dial, tasks::add, () -> nanos, new Repeating(1, PATIENCE, () -> nanos, (task, _) -> later.add(task)), drops);

  /** A leader of the sessions; records what it is sent. */
  private final class Sessions implements Delivery {
    final List<String> stored = new ArrayList<>();
    final List<Acknowledgement> held = new ArrayList<>();
    final long identity = ++identities;
    final LinkAcceptor acceptor =
        new LinkAcceptor(
            identity, LINK, 4, tasks::add, () -> nanos,
            (link, _) -> stream = new ReceivingStream(link, tasks::add, new RemoteDeliveries(this), later::add));
    boolean holds;
    int asked;
    @Nullable ReceivingStream stream;

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      var text = new StringBuilder(message.topic());
      for (int i = 0; i < routes.size(); i++) text.append(' ').append(routes.get(i).filter().text());
      if (message.isRepetition() || (acknowledgement != null && acknowledgement.terms().repeated())) text.append(" again");
      stored.add(text.toString());
      if (acknowledgement == null) return;
      if (holds) held.add(acknowledgement);
      else acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      asked++;
      return 5;
    }
  }

  private static final class Answer extends Acknowledgement {
    @Nullable ReasonCode reason;
    private final Terms terms;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  private Link dial(Link.Handler handler) {
    return QueuedPipe.dial(++identities, LINK, leader.acceptor, tasks::add, () -> nanos, handler);
  }

  private void run() {
    for (int i = 0; i < 10_000 && !tasks.isEmpty(); i++) tasks.remove().run();
    assertThat(tasks).isEmpty();
  }

  /** Ends the pauses between links, and the grace of those that end. */
  private void pass() {
    var due = new ArrayList<>(later);
    later.clear();
    due.forEach(Runnable::run);
    run();
  }

  private static Route route(String filter) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.inbox(3), 0, 0);
  }

  private Answer deliver(String topic, QoS qos, Publication.@Nullable Exchange exchange, String... filters) {
    var routes = new MatchedRoutes();
    for (String filter : filters) routes.add(route(filter));
    byte[] body = topic.getBytes(StandardCharsets.UTF_8);
    var message =
        new Publication(new Publisher("t", "client"), qos, false, 0, Publication.NEVER_EXPIRES, -1, body.length, 0, body, exchange);
    var answer = new Answer(exchange == null ? terms : terms.from(new Terms.Origin(77, 4, 2, false)));
    delivery.deliver(message, routes, null, answer);
    routes.clear(); // as the lane does
    return answer;
  }

  private void leave() {
    var stream = leader.stream;
    if (stream == null) throw new AssertionError("no lane has come");
    leader = new Sessions();
    stream.end();
    run();
  }

  @Test
  void whatOneLeaderLeavesUnansweredComesToTheNextWithItsRoutesAndInItsOrder() {
    var first = leader;
    var stored = deliver("a", QoS.AT_LEAST_ONCE, null, "a/+", "#");
    run();
    first.holds = true;
    var open = deliver("b", QoS.AT_LEAST_ONCE, null, "b", "$share/g/b");
    var recorded = deliver("c", QoS.EXACTLY_ONCE, new Publication.Exchange(1, 7), "c");
    run();
    leave();
    var returned = deliver("d", QoS.EXACTLY_ONCE, null, "d/#");
    run();
    pass(); // the grace of the first leader is over
    pass(); // so is the pause

    assertThat(first.stored).containsExactly("a a/+ #", "b b $share/g/b", "c c");
    assertThat(leader.stored).containsExactly("b b $share/g/b again", "c c again", "d d/#");
    assertThat(List.of(stored, open, recorded, returned)).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
  }

  @Test
  void qos2WithoutARecordMayHaveComeAndIsNotSentAgain() {
    leader.holds = true;
    var open = deliver("a", QoS.EXACTLY_ONCE, null, "a");
    run();
    leave();
    pass();
    pass();

    assertThat(open.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(leader.stored).isEmpty();
  }

  /** Its client is disconnected, and sends both again. */
  @Test
  void whatComesBehindAMessageWithTooManyRoutesIsRefused() {
    String[] tooMany = IntStream.range(0, 200).mapToObj(i -> i + "/" + "a".repeat(65_000)).toArray(String[]::new);
    var answered = deliver("answered", QoS.AT_LEAST_ONCE, null, tooMany);
    terms = Terms.disconnecting(7);
    var before = deliver("before", QoS.AT_LEAST_ONCE, null, "a");
    var refused = deliver("refused", QoS.AT_LEAST_ONCE, null, tooMany);
    var behind = deliver("behind", QoS.AT_LEAST_ONCE, null, "a");
    terms = Terms.disconnecting(8);
    var other = deliver("other", QoS.AT_LEAST_ONCE, null, "a");
    terms = Terms.ANSWERED;
    var next = deliver("next", QoS.AT_LEAST_ONCE, null, "a");
    run();

    assertThat(List.of(answered, refused, behind)).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SERVER_BUSY));
    assertThat(List.of(before, other, next)).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
    assertThat(leader.stored).containsExactly("before a", "other a", "next a");
  }

  @Test
  void creditThatCannotBeAskedForBetweenTwoLeadersIsAskedForAfterwards() {
    deliver("a", QoS.AT_LEAST_ONCE, null, "a");
    run();
    leave(); // all is answered: its link has ended, and there is a pause
    nanos += Duration.ofSeconds(1).toNanos();
    delivery.groupCredit(route("$share/g/a"));
    run();
    assertThat(leader.asked).isZero();

    pass();
    delivery.groupCredit(route("$share/g/a"));
    run();
    assertThat(leader.asked).isEqualTo(1);
  }
}
