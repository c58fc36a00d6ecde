package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One run of a frontend and the session tier over pipes that delay and break. Each side notes what it does and what comes of it. */
final class InboxRun implements InboxCalls.Tier, InboxClient, KeptConnections {
  static final InboxOpening FRONTEND = new InboxOpening("frontend", 7, 1);
  private static final int CONNECTIONS = 5;
  private static final int SESSIONS = 4;

  final Random random;
  final RandomInbox chance;
  final InboxWires wires;
  final RemoteInbox inbox;
  final List<String> lost = new ArrayList<>();
  final List<String> detached = new ArrayList<>();
  @Nullable RemoteConnections connections;

  /** Calls as they were made and as they arrived; futures by the call, with what the tier has answered. */
  final List<InboxCall> called = new ArrayList<>();

  final List<InboxCall> arrived = new ArrayList<>();
  final Map<Integer, Integer> answers = new HashMap<>();
  final Map<Integer, Object> values = new HashMap<>();
  final Map<Integer, Throwable> failures = new HashMap<>();

  /** What the tier has given to each call that arrived. */
  final List<Object> given = new ArrayList<>();

  final List<Runnable> later = new ArrayList<>();

  /** What the tier has said, answers to CONNECT among it, and what has come of it; notes apart. */
  final List<String> said = new ArrayList<>();

  final List<String> heard = new ArrayList<>();
  final Map<Long, Integer> behindSince = new HashMap<>();
  final Map<Long, Integer> reasonsToRead = new HashMap<>();
  final Map<Long, Integer> notesHeard = new HashMap<>();
  final List<CompletableFuture<Void>> settling = new ArrayList<>();
  final List<CompletableFuture<Void>> settled = new ArrayList<>();
  final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
  int droppedQoS0;
  int leftOut;
  int interrupted;
  long sequence;

  /** Whether the frontend dials again when its link is lost; else its life ends then. */
  boolean goesOn;

  InboxRun(long seed) {
    random = new Random(seed);
    chance = new RandomInbox(random);
    var settings = new Link.Settings(random.nextBoolean() ? 40 : 65_536, 64L << 20, Duration.ofSeconds(10));
    var factory = InboxCalls.factory(this::tierRuns, new RemoteConnections.Bounds(12, 6_000), drops, this);
    wires = new InboxWires(random, settings, FRONTEND, factory);
    inbox =
        new RemoteInbox(
            FRONTEND.frontend(), FRONTEND.incarnation(), this, wires.frontendTasks::add,
            new RemoteInbox.Bounds(60, 200_000, 1 << 20, 1_000), this::isLost);
    inbox.dial(wires::dial);
  }

  void isLost(String reason) {
    lost.add(reason);
    wires.frontendTasks.add(
        () -> {
          if (goesOn) inbox.dial(wires::dial);
          else inbox.close("the link to the session tier is lost: " + reason);
        });
  }

  void tierRuns(Runnable task) {
    wires.tierTasks.add(task);
  }

  static String text(Connected connected) {
    return "connected " + HexFormat.of().formatHex(AnswerForm.CONNECTED.encode(connected));
  }

  static String text(long connection, InboxMessage message) {
    return "push " + connection + " " + HexFormat.of().formatHex(AnswerForm.PAGE.encode(new Page(List.of(message), 0, false)));
  }

  // the frontend calls

  void calls() {
    var session = new SessionRef("t", "c" + random.nextInt(SESSIONS), 1);
    int kind = random.nextInt(17);
    if (kind >= 14) {
      long[] sequences = random.longs(random.nextInt(3), 1, 1_000).toArray();
      inbox.acknowledge(session, sequences);
      if (sequences.length > 0 && lost.isEmpty()) called.add(new InboxCall.Acknowledge(session, sequences));
      return;
    }
    var call = chance.asking(kind, session, new ConnectionId(FRONTEND.frontend(), FRONTEND.incarnation(), random.nextInt(CONNECTIONS)));
    if (random.nextInt(30) == 0) {
      var missing = chance.connection();
      inbox.missing(missing);
      if (lost.isEmpty()) called.add(new InboxCall.Missing(missing));
    }
    int number = called.size();
    called.add(call);
    var answer = make(call);
    var _ =
        answer.whenComplete(
            (value, failure) -> {
              answers.merge(number, 1, Integer::sum);
              if (failure != null) failures.put(number, failure);
              else values.put(number, value == null ? "nothing" : value);
              if (value instanceof Connected connected) heard.add(text(connected));
            });
  }

  CompletableFuture<?> make(InboxCall.Asking asking) {
    return switch (asking) {
      case InboxCall.Connect(var request) -> inbox.connect(request);
      case InboxCall.Subscribe(var session, var subscriptions) -> inbox.subscribe(session, subscriptions);
      case InboxCall.Unsubscribe(var session, var filters) -> inbox.unsubscribe(session, filters);
      case InboxCall.Disconnect(var session, var publishWill, var expiry) -> inbox.disconnect(session, publishWill, expiry);
      case InboxCall.Settled(var displaced) -> inbox.settled(displaced);
      case InboxCall.Append(var session, var options, var from, var retained) -> inbox.append(session, options, from, retained);
      case InboxCall.AppendToGroup(var group, var message, var exchange) -> inbox.appendToGroup(group, message, exchange);
      case InboxCall.Received(var session, var number) -> inbox.received(session, number);
      case InboxCall.Released(var session, var birth, var packetId) -> inbox.released(session, birth, packetId);
      case InboxCall.Forget(var session, var birth, var packetId) -> inbox.forget(session, birth, packetId);
      case InboxCall.Delivered(var session, var packetIds) -> inbox.delivered(session, packetIds);
      case InboxCall.Fetch(var session, var from, var messagesMax, var bytesMax) -> inbox.fetch(session, from, messagesMax, bytesMax);
      case InboxCall.IsTakenOver(var session) -> inbox.isTakenOver(session);
      case InboxCall.Statistics() -> inbox.statistics();
    };
  }

  // the tier is called

  @Override
  public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections to) {
    assertThat(frontend).isEqualTo(FRONTEND);
    connections = to;
    return new InboxCalls.Attachment(this, CompletableFuture.completedFuture(null));
  }

  @Override
  public void detach(InboxOpening frontend, RemoteConnections to, String reason) {
    detached.add(reason);
    if (goesOn) connections = null;
  }

  @Override
  public CompletableFuture<@Nullable Void> proof() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public void interrupt(InboxOpening frontend, RemoteConnections to, String reason) {
    interrupted++;
    to.close();
    connections = null;
  }

  @Override
  public void comparing() {
    heard.add("comparing");
  }

  @Override
  public CompletableFuture<List<Long>> missing(List<Owner> owners) {
    throw new AssertionError("nothing is asked");
  }

  @Override
  public void compared() {
    heard.add("compared");
  }

  static boolean mayBeMadeTwice(InboxCall call) {
    return !(call instanceof InboxCall.Connect || call instanceof InboxCall.AppendToGroup || call instanceof InboxCall.Statistics);
  }

  /** A failure that is answered. */
  RuntimeException failureOf(InboxCall call) {
    var failure = chance.failure();
    boolean interrupts = failure instanceof OutcomeUnknownException && mayBeMadeTwice(call);
    return interrupts && !goesOn ? new StoreException("a failure that is answered") : failure;
  }

  <T> CompletableFuture<T> answers(InboxCall call, Supplier<T> value) {
    arrived.add(call);
    int number = arrived.size() - 1;
    given.add("nothing yet");
    var answer = new CompletableFuture<T>();
    boolean fails = !(call instanceof InboxCall.Settled) && random.nextInt(5) == 0;
    Runnable gives =
        () -> {
          if (fails) {
            var failure = failureOf(call);
            given.set(number, failure);
            answer.completeExceptionally(failure);
          } else {
            T one = value.get();
            given.set(number, one == null ? "nothing" : one);
            if (one instanceof Connected connected) said.add(text(connected));
            answer.complete(one);
          }
        };
    if (random.nextInt(3) == 0) gives.run();
    else later.add(gives);
    return answer;
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    return answers(new InboxCall.Connect(request), chance::connected);
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return answers(new InboxCall.Subscribe(session, subscriptions), chance::flags);
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return answers(new InboxCall.Unsubscribe(session, filters), chance::flags);
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    return done(new InboxCall.Disconnect(session, publishWill, sessionExpirySeconds));
  }

  CompletableFuture<Void> done(InboxCall call) {
    return answers(call, () -> true).thenApply(_ -> null);
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    if (!connection.frontend().equals(FRONTEND.frontend())) return done(new InboxCall.Settled(connection));
    heard.add("settled " + connection.number());
    var answer = new CompletableFuture<Void>();
    if (random.nextBoolean()) answer.complete(null);
    else settling.add(answer);
    return answer;
  }

  @Override
  public void missing(ConnectionId connection) {
    arrived.add(new InboxCall.Missing(connection));
    given.add("nothing");
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return answers(new InboxCall.Append(session, options, from, retained), chance::appended);
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return answers(new InboxCall.AppendToGroup(group, message, exchange), random::nextBoolean);
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    arrived.add(new InboxCall.Acknowledge(session, sequences));
    given.add("nothing");
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long number) {
    return done(new InboxCall.Received(session, number));
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    return done(new InboxCall.Released(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return done(new InboxCall.Forget(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return done(new InboxCall.Delivered(session, packetIds));
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return answers(new InboxCall.IsTakenOver(session), random::nextBoolean);
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    return answers(new InboxCall.Fetch(session, fromSequence, messagesMax, bytesMax), chance::page);
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    return answers(new InboxCall.Statistics(), chance::statistics);
  }

  // the tier says something

  void says() {
    var to = connections;
    if (to == null) return;
    long number = random.nextInt(CONNECTIONS);
    var connection = new ConnectionId(FRONTEND.frontend(), FRONTEND.incarnation(), number);
    switch (random.nextInt(12)) {
      case 0 -> {
        note(number);
        to.behind(connection);
      }
      case 1 -> {
        said.add("displaced " + number);
        to.displaced(connection);
      }
      case 2 -> {
        said.add("dismissed " + number);
        to.dismissed(connection);
      }
      case 3 -> {
        said.add("settled " + number);
        settled.add(to.settled(connection));
      }
      case 4 -> to.push(new ConnectionId(FRONTEND.frontend(), 6, number), chance.message());
      default -> pushes(to);
    }
  }

  /** The same message to some connections. */
  void pushes(RemoteConnections to) {
    var message = chance.publication();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      long number = random.nextInt(CONNECTIONS);
      boolean stored = random.nextInt(3) > 0;
      var qos = stored ? QoS.of(1 + random.nextInt(2)) : QoS.AT_MOST_ONCE;
      var push =
          new InboxMessage(
              stored ? ++sequence : 0, qos, random.nextBoolean(), random.nextBoolean(), random.nextBoolean(), chance.identifiers(), message);
      long droppedBefore = drops.overloaded();
      long leftOutBefore = to.leftOut();
      boolean full = to.messages() >= 12 || to.bytes() >= 6_000;
      to.push(new ConnectionId(FRONTEND.frontend(), FRONTEND.incarnation(), number), push);
      assertThat(drops.overloaded() - droppedBefore).isEqualTo(full && !stored ? 1 : 0);
      assertThat(to.leftOut() - leftOutBefore).isEqualTo(full && stored ? 1 : 0);
      if (!full) said.add(text(number, push));
      else if (!stored) droppedQoS0++;
      else note(number);
      if (full && stored) leftOut++;
    }
  }

  void note(long connection) {
    behindSince.put(connection, said.size());
    reasonsToRead.merge(connection, 1, Integer::sum);
  }

  // the frontend hears it

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    assertThat(connection.frontend()).isEqualTo(FRONTEND.frontend());
    assertThat(connection.incarnation()).isEqualTo(FRONTEND.incarnation());
    heard.add(text(connection.number(), message));
  }

  @Override
  public void behind(ConnectionId connection) {
    behindSince.remove(connection.number());
    notesHeard.merge(connection.number(), 1, Integer::sum);
  }

  @Override
  public void displaced(ConnectionId connection) {
    heard.add("displaced " + connection.number());
  }

  @Override
  public void dismissed(ConnectionId connection) {
    heard.add("dismissed " + connection.number());
  }

  // time passes

  void answersOne() {
    if (!later.isEmpty()) later.remove(random.nextInt(later.size())).run();
    if (!settling.isEmpty()) settling.remove(random.nextInt(settling.size())).complete(null);
  }

  void run(int steps, int breaksOneIn, int restartsOneIn) {
    for (int i = 0; i < steps; i++) {
      int what = random.nextInt(20);
      if (what < 4) calls();
      else if (what < 8) says();
      else if (what < 10) answersOne();
      else wires.step();
      if (random.nextInt(breaksOneIn) == 0) wires.breaks();
      if (restartsOneIn > 0 && (goesOn || lost.isEmpty()) && random.nextInt(restartsOneIn) == 0) {
        connections = null;
        wires.tierRestarts();
      }
    }
    rest();
  }

  void rest() {
    do {
      while (!later.isEmpty() || !settling.isEmpty()) answersOne();
      wires.drain();
    } while (!later.isEmpty() || !settling.isEmpty());
  }

  void nothingIsLeft() {
    assertThat(inbox.calls()).isZero();
    assertThat(inbox.bytes()).isZero();
    assertThat(inbox.acknowledgementsWaiting()).isZero();
    for (int i = 0; i < called.size(); i++) {
      if (called.get(i) instanceof InboxCall.Asking) assertThat(answers).as("%s", called.get(i)).containsEntry(i, 1);
    }
  }

  /** A call in a form that can be compared. */
  static String text(InboxCall call) {
    return call.getClass().getSimpleName() + HexFormat.of().formatHex(InboxCallCodec.encode(call));
  }

  /**
   * For each session its calls in order, acknowledgements between two of them as one; CONNECTs in order, which wait until the frontend is attached; all other
   * calls in order; and fetches, which wait in a line and have no order among sessions.
   */
  static Map<String, List<String>> bySession(List<InboxCall> calls) {
    var all = new LinkedHashMap<String, List<String>>();
    var fetches = all.computeIfAbsent("fetches", _ -> new ArrayList<>());
    for (InboxCall each : calls) {
      switch (each) {
        case InboxCall.Acknowledge(var session, var sequences) -> {
          var of = all.computeIfAbsent(session.clientId(), _ -> new ArrayList<>());
          String before = of.isEmpty() || !of.getLast().startsWith("acknowledged") ? "acknowledged" : of.removeLast();
          of.add(before + Arrays.stream(sequences).mapToObj(one -> " " + one).collect(Collectors.joining()));
        }
        case InboxCall.Fetch fetch -> fetches.add(text(fetch));
        case InboxCall.Connect connect -> all.computeIfAbsent("connects", _ -> new ArrayList<>()).add(text(connect));
        default -> {
          all.computeIfAbsent("all", _ -> new ArrayList<>()).add(text(each));
          var session = sessionOf(each);
          if (session != null) all.computeIfAbsent(session.clientId(), _ -> new ArrayList<>()).add(text(each));
        }
      }
    }
    Collections.sort(fetches);
    return all;
  }

  static @Nullable SessionRef sessionOf(InboxCall call) {
    return switch (call) {
      case InboxCall.Subscribe(var session, _) -> session;
      case InboxCall.Unsubscribe(var session, _) -> session;
      case InboxCall.Disconnect(var session, _, _) -> session;
      case InboxCall.Append(var session, _, _, _) -> session;
      case InboxCall.Received(var session, _) -> session;
      case InboxCall.Released(var session, _, _) -> session;
      default -> null;
    };
  }

  /** Calls that were not refused, since too many waited, nor failed without being sent. */
  List<InboxCall> accepted() {
    var accepted = new ArrayList<InboxCall>();
    for (int i = 0; i < called.size(); i++) if (!wasNotSent(i)) accepted.add(called.get(i));
    return accepted;
  }

  boolean wasNotSent(int number) {
    var failure = failures.get(number);
    if (failure == null || failure.getClass() != StoreException.class) return false;
    String message = String.valueOf(failure.getMessage());
    return message.startsWith("not sent: ") || message.startsWith("the link to the session tier") || message.contains("wait for the session tier");
  }
}
