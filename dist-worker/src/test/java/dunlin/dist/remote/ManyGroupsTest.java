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
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Messages;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A message for very many groups, or with very long filters, over a link that carries the messages of other clients, too. */
class ManyGroupsTest {
  /** A sixteenth of what it is in a broker, and so is the body. */
  private static final Link.Settings LINK = new Link.Settings(65_536, 4 << 20, Duration.ofSeconds(10));

  private static final int BODY = 64 * 1_024;
  private static final int GROUPS = 64;

  /** Of the pipes between nodes; a larger frame ends them. */
  private static final int PIPE_FRAME_MAX = 17 << 20;

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
  private final List<String> delivered = new ArrayList<>();
  private final List<byte[]> bodies = new ArrayList<>();
  private final List<Integer> frames = new ArrayList<>();
  private final List<Integer> reports = new ArrayList<>();
  private final Frontend frontend = new Frontend();
  private final Repetitions repetitions = new Repetitions();
  private Link.Settings settings = LINK;
  private boolean earlierReceiver;
  private long identities = 2;
  private @Nullable Link dialled;
  private final RemoteDelivery delivery = new RemoteDelivery(this::dial, tasks::add, () -> 0, null, drops);

  private final class Frontend implements Delivery {
    int credit = 5;

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      for (int i = 0; i < routes.size(); i++) delivered.add(message.topic() + " " + routes.get(i).handle());
      bodies.add(message.body());
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return credit;
    }
  }

  /** Reports credit as versions did that do not read references. */
  private final class EarlierReceiver implements ReceivingStream.Receiver {
    private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
    private final MatchedRoutesCodec groups = new MatchedRoutesCodec();

    @Override
    public void take(Messages.Sent sent, FrameReader in, ReceivingStream.Receipt receipt, ReceivingStream stream) throws MalformedFrameException {
      var routes = new MatchedRoutes();
      codec.read(in, routes);
      receipt.expect();
      frontend.deliver(sent.message(), routes, receipt, receipt);
      tell(routes.get(0), stream);
    }

    @Override
    public void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException {
      tell(codec.read(in), stream);
    }

    private void tell(Route route, ReceivingStream stream) {
      var out = new FrameWriter();
      groups.write(out, route);
      out.number(frontend.credit);
      stream.tell(out.take());
    }
  }

  /** Notes the length of frames. */
  private record Noting(Link.Handler handler, List<Integer> lengths) implements Link.Handler {
    @Override
    public void received(byte[] frame) {
      lengths.add(frame.length);
      handler.received(frame);
    }

    @Override
    public void lost(String reason) {
      handler.lost(reason);
    }

    @Override
    public void confirmed() {
      handler.confirmed();
    }

    @Override
    public void connected() {
      handler.connected();
    }
  }

  private static final class Answer extends Acknowledgement {
    private final Terms terms;
    @Nullable ReasonCode reason;

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
    var acceptor =
        new LinkAcceptor(
            7, settings, 4, tasks::add, () -> 0,
            (link, _) -> new Noting(new ReceivingStream(link, tasks::add, earlierReceiver ? new EarlierReceiver() : new RemoteDeliveries(frontend, repetitions)), frames));
    var link = QueuedPipe.dial(++identities, settings, acceptor, tasks::add, () -> 0, new Noting(handler, reports));
    dialled = link;
    return link;
  }

  private void run() {
    for (int i = 0; i < 100_000 && !tasks.isEmpty(); i++) tasks.remove().run();
    assertThat(tasks).isEmpty();
  }

  private static long sum(List<Integer> lengths) {
    return lengths.stream().mapToLong(each -> each).sum();
  }

  private Link link() {
    return Objects.requireNonNull(dialled);
  }

  private static Route route(String filter, int handle) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.frontend("n"), 4, handle);
  }

  private static Publication message(String topic, QoS qos, int bytes) {
    return Publication.of(new Publisher("t", "client"), topic, qos, false, 0, new byte[bytes]);
  }

  private Answer deliver(Publication message, List<Route> routes) {
    return deliver(message, Terms.ANSWERED, routes);
  }

  private Answer deliver(Publication message, Terms terms, List<Route> routes) {
    return deliver(delivery, message, terms, routes);
  }

  private static Answer deliver(RemoteDelivery by, Publication message, List<Route> routes) {
    return deliver(by, message, Terms.ANSWERED, routes);
  }

  private static Answer deliver(RemoteDelivery by, Publication message, Terms terms, List<Route> routes) {
    var matched = new MatchedRoutes();
    routes.forEach(matched::add);
    var answer = new Answer(terms);
    by.deliver(message, matched, null, answer);
    matched.clear(); // as the lane does
    return answer;
  }

  /** As a lane does with QoS 1 and 2: once for each group. */
  private List<Answer> deliverToGroups(Publication message) {
    return IntStream.range(0, GROUPS).mapToObj(i -> deliver(message, List.of(route("$share/g" + i + "/" + message.topic(), i)))).toList();
  }

  private static List<String> toGroups(String topic) {
    return IntStream.range(0, GROUPS).mapToObj(i -> topic + " " + i).toList();
  }

  private static void succeed(List<Answer> answers) {
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
  }

  @ParameterizedTest(name = "earlier version {0}")
  @ValueSource(booleans = {false, true})
  void aMessageForManyGroupsLeavesTheLinkToOthers(boolean earlier) {
    earlierReceiver = earlier;

    var before = deliver(message("other/1", QoS.AT_LEAST_ONCE, 10), List.of(route("other/+", 100)));
    var answers = deliverToGroups(message("t", QoS.AT_LEAST_ONCE, BODY));
    var behind = deliver(message("other/2", QoS.AT_LEAST_ONCE, 10), List.of(route("other/+", 100)));

    assertThat(link().isLost()).isFalse();
    assertThat(link().unconfirmedBytes()).isLessThan(LINK.bytesMax() / 2 + 2 * BODY);
    run();
    assertThat(delivered).startsWith("other/1 100").endsWith("other/2 100").containsSubsequence(toGroups("t"));
    succeed(answers);
    succeed(List.of(before, behind));
    assertThat(link().isLost()).isFalse();
  }

  @Test
  void theBodyCrossesOnceAndIsHeldOnceWhenTheReceiverHasSaidThatItReadsReferences() {
    deliverToGroups(message("t", QoS.AT_LEAST_ONCE, 10));
    run();
    frames.clear();
    bodies.clear();
    delivered.clear();

    var answers = deliverToGroups(message("t", QoS.AT_LEAST_ONCE, BODY));
    var behind = deliver(message("u", QoS.AT_LEAST_ONCE, BODY), List.of(route("u", 100)));
    run();

    assertThat(delivered).hasSize(GROUPS + 1).startsWith(toGroups("t").toArray(String[]::new)).endsWith("u 100");
    succeed(answers);
    succeed(List.of(behind));
    assertThat(sum(frames)).isBetween(2L * BODY, 2L * BODY + 20 * GROUPS);
    assertThat(bodies.subList(0, GROUPS)).allSatisfy(each -> assertThat(each).isSameAs(bodies.getFirst()));
    assertThat(bodies.getLast()).isNotSameAs(bodies.getFirst());
  }

  @Test
  void aReceiverOfAnEarlierVersionGetsEachBody() {
    earlierReceiver = true;
    deliverToGroups(message("t", QoS.AT_LEAST_ONCE, 10));
    run();
    frames.clear();

    var answers = deliverToGroups(message("t", QoS.EXACTLY_ONCE, BODY));
    run();

    succeed(answers);
    assertThat(sum(frames)).isGreaterThan((long) GROUPS * BODY);
    assertThat(frames).allSatisfy(each -> assertThat(each).isLessThan(2 * BODY));
  }

  /** It reads a group and its credit, and no more. */
  @Test
  void aSenderOfAnEarlierVersionReadsTheReportsAndIsRead() {
    var credits = new ArrayList<Integer>();
    final class Earlier implements SendingStream.Companion<MatchedRoutes> {
      private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
      private final MatchedRoutesCodec groups = new MatchedRoutesCodec();

      @Override
      public void write(FrameWriter out, MatchedRoutes routes) {
        codec.write(out, routes);
      }

      @Override
      public void say(FrameWriter out) {
        codec.write(out, route("$share/g0/t", 0));
      }

      @Override
      public void told(FrameReader in) throws MalformedFrameException {
        assertThat(groups.read(in).filter().shared()).isTrue();
        credits.add(in.count(Integer.MAX_VALUE));
      }

      @Override
      public void lost() {}
    }
    var sender = new SendingStream<MatchedRoutes>(this::dial, Earlier::new, tasks::add, null, null, drops);
    var answers = new ArrayList<Answer>();
    var message = message("t", QoS.AT_LEAST_ONCE, BODY);
    for (int i = 0; i < 3; i++) {
      var routes = new MatchedRoutes();
      routes.add(route("$share/g" + i + "/t", i));
      var answer = new Answer(Terms.ANSWERED);
      answers.add(answer);
      sender.send(message, routes, null, answer);
      run();
    }
    assertThat(sender.say()).isTrue();
    run();

    succeed(answers);
    assertThat(credits).containsExactly(5, 5, 5, 5);
    assertThat(delivered).containsExactly("t 0", "t 1", "t 2");
    assertThat(link().isLost()).isFalse();
  }

  private static String longName(int number) {
    return number + "x".repeat(60_000);
  }

  private static List<Route> longGroups(int count) {
    return IntStream.range(0, count).mapToObj(i -> route("$share/" + longName(i) + "/t", i)).toList();
  }

  @Test
  void groupsWithLongNamesAreInSeveralFramesAndSoAreTheReports() {
    settings = Link.Settings.defaults();
    var answer = deliver(message("t", QoS.AT_MOST_ONCE, 10), withPlain(longGroups(300)));
    run();

    assertThat(sum(frames)).isGreaterThan(PIPE_FRAME_MAX);
    assertThat(frames).allSatisfy(each -> assertThat(each).isLessThan(2 << 20));
    assertThat(reports).allSatisfy(each -> assertThat(each).isLessThan(2 << 20));
    assertThat(delivered).hasSize(301).startsWith("t 1000", "t 0", "t 1").endsWith("t 299").doesNotHaveDuplicates();
    succeed(List.of(answer));
    assertThat(link().isLost()).isFalse();
  }

  @Test
  void plainRoutesThatAreTooLongTogetherCostTheirMessageOnly() {
    settings = Link.Settings.defaults();
    var plain = IntStream.range(0, 220).mapToObj(i -> route(longName(i), i)).toList();

    var refused = deliver(message("t", QoS.AT_LEAST_ONCE, 10), plain);
    var dropped = deliver(message("t", QoS.AT_MOST_ONCE, 10), plain);
    var other = deliver(message("t", QoS.AT_LEAST_ONCE, 10), plain.subList(0, 150));
    run();

    assertThat(refused.reason).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(dropped.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(drops.overloaded()).isEqualTo(1);
    succeed(List.of(other));
    assertThat(delivered).hasSize(150);
  }

  /** It is recorded once, with all of its routes. */
  @Test
  void aRecordedExchangeIsNotInParts() {
    settings = Link.Settings.defaults();
    var message = message("t", QoS.EXACTLY_ONCE, 10);
    byte[] body = message.body();
    var recorded =
        new Publication(message.publisher(), QoS.EXACTLY_ONCE, false, 0, Publication.NEVER_EXPIRES, -1, 1, 0, body, new Publication.Exchange(1, 7));

    var refused = deliver(recorded, longGroups(220));
    var whole = deliver(recorded, longGroups(150));
    run();

    assertThat(refused.reason).isEqualTo(ReasonCode.SERVER_BUSY);
    succeed(List.of(whole));
    assertThat(bodies).hasSize(1);
  }

  /** It matches plain subscriptions itself for each delivery, so a message in parts would come to them several times. */
  @Test
  void theOwnerOfInboxShardsGetsAllRoutesOfAMessageAtOnce() {
    settings = Link.Settings.defaults();
    var toInbox = new RemoteDelivery(this::dial, tasks::add, () -> 0, new Repeating(1, Duration.ofSeconds(10), () -> 0, (_, _) -> {}), drops);
    for (var qos : List.of(QoS.AT_MOST_ONCE, QoS.AT_LEAST_ONCE, QoS.EXACTLY_ONCE)) {
      bodies.clear();
      delivered.clear();
      var whole = deliver(toInbox, message("t", qos, 10), withPlain(longGroups(150)));
      var tooLong = deliver(toInbox, message("t", qos, 10), withPlain(longGroups(220)));
      run();

      succeed(List.of(whole));
      assertThat(tooLong.reason).isEqualTo(qos == QoS.AT_MOST_ONCE ? ReasonCode.SUCCESS : ReasonCode.SERVER_BUSY);
      assertThat(bodies).as("deliveries").hasSize(1);
      assertThat(delivered).hasSize(151);
    }
    assertThat(drops.overloaded()).isEqualTo(1);
    assertThat(link().isLost()).isFalse();
  }

  private static List<Route> withPlain(List<Route> groups) {
    var all = new ArrayList<Route>();
    all.add(route("+", 1_000));
    all.addAll(groups);
    return all;
  }

  @Test
  void longNamesAreNotHeldForRepetitionsWhichAreKnownAgain() {
    settings = Link.Settings.defaults();
    var groups = longGroups(2);
    for (int number = 1; number <= 400; number++) {
      var terms = Terms.ANSWERED.from(new Terms.Origin(5, number, 1, false));
      for (Route group : groups) deliver(message("t", QoS.EXACTLY_ONCE, 10), terms, List.of(group));
      run();
    }
    assertThat(delivered).hasSize(800);
    assertThat(repetitions.size()).isEqualTo(800);
    assertThat(repetitions.groupCharacters()).isLessThan(800 * 257);

    var repeated = Terms.ANSWERED.from(new Terms.Origin(5, 17, 1, true));
    for (Route group : groups) deliver(message("t", QoS.EXACTLY_ONCE, 10), repeated, List.of(group));
    run();
    assertThat(delivered).as("both are known").hasSize(800);
    deliver(message("t", QoS.EXACTLY_ONCE, 10), repeated, List.of(longGroups(3).getLast()));
    run();
    assertThat(delivered).as("another group").hasSize(801);
  }

  @Test
  void shortNamesAreTheObjectThatRoutesShare() {
    for (int number = 1; number <= 100; number++) {
      var terms = Terms.ANSWERED.from(new Terms.Origin(5, number, 1, false));
      deliver(message("t", QoS.EXACTLY_ONCE, 10), terms, List.of(route("$share/g/t", 3)));
      run();
    }

    assertThat(repetitions.size()).isEqualTo(100);
    assertThat(repetitions.groupObjects()).isEqualTo(1);
  }
}
