package dunlin.broker.connect;

import dunlin.broker.auth.Authentication;
import dunlin.broker.fanout.Fanout;
import dunlin.broker.listen.Listener;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.LoopThread;
import dunlin.broker.loop.Loops;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.LoopSessions;
import dunlin.broker.session.SubscribeRules;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.KeptConnections.Owner;
import dunlin.inbox.KeptConnections;
import dunlin.model.ReasonCode;
import io.netty.channel.ChannelHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * All connections of a frontend, on all event loops: admits clients, finds connections by their numbers for the session
 * tier, and reports ended ones to it.
 */
public final class Reception implements Connections {
  /*
   * Owner: any thread, once it is open.
   * Bounds: those of its parts.
   */
  private final String nodeId;
  private final long incarnation;
  private final Leaving leaving;
  private final Authentication authentication;
  private final ConnectionWatch watch;
  private final ClientIndex index = new ClientIndex();

  /** Set once, before there is a connection. */
  private Lives lives;

  private volatile LoopConnections[] parts = {}; // set once, when the frontend opens

  /** The drain in progress, or null; written by the caller of {@link #drain(Drain)}. */
  private volatile @Nullable Drain drain;

  /**
   * @param nodeId the name of this frontend as a shard
   * @param incarnation the life of the node; larger than in all earlier lives
   */
  public Reception(String nodeId, long incarnation, Authentication authentication, Leaving leaving, ConnectionWatch watch) {
    this.nodeId = nodeId;
    this.incarnation = incarnation;
    this.lives = new Lives(incarnation, 1);
    this.authentication = authentication;
    this.leaving = leaving;
    this.watch = watch;
  }

  /** Creates the part of each event loop. */
  public void open(Loops loops, Fanout fanout, SubscribeRules rules) {
    lives = new Lives(incarnation, loops.get(0).tiers().inbox().ranges().size());
    var made = new LoopConnections[loops.count()];
    for (int i = 0; i < made.length; i++) made[i] = new LoopConnections(this, new LoopSessions(fanout.on(i), fanout, rules));
    parts = made;
  }

  /** The parts of all event loops. */
  public List<LoopConnections> parts() {
    return List.of(parts);
  }

  /** The part of an event loop. */
  LoopConnections on(int loop) {
    return parts[loop];
  }

  /** Creates the handler of a connection that a listener has accepted, for the calling event loop. */
  public ChannelHandler accept(Listener listener) {
    Loop current = LoopThread.current();
    if (current == null) throw new IllegalStateException("a connection without an event loop");
    return new Connection(parts[current.index()], listener);
  }

  Authentication authentication() {
    return authentication;
  }

  ConnectionWatch watch() {
    return watch;
  }

  /** The clients that are connected. */
  ClientIndex index() {
    return index;
  }

  String nodeId() {
    return nodeId;
  }

  /** Has each session checked, some time soon, whether its client may still do what it does. Any thread. */
  public void checkAccess() {
    for (LoopConnections part : parts) part.loop().post(part::checkAccess);
  }

  // ---------------------------------------------------------------------------------------------------- for the session tier

  /** The number of ranges of sessions. */
  int ranges() {
    return lives.ranges();
  }

  /**
   * The life of this frontend that new connections to sessions of a range belong to; rises with each process and each
   * {@link #sessionTierLost}.
   */
  public long life(int range) {
    return lives.present(range);
  }

  /**
   * Ends all connections to sessions of a range with 0x89 and begins a new life for it, because the session tier treats those
   * of the present life as lost, or will do so.
   */
  public long sessionTierLost(int range) {
    return lives.next(range, parts());
  }

  /** All connections, as the leader of one range of sessions calls and compares them. */
  public KeptConnections of(int range) {
    return new RangeConnections(this, range);
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    LoopConnections target = partOf(connection);
    if (target == null) return;
    Loop current = LoopThread.current();
    if (current != null) parts[current.index()].passOn(target, connection.number(), message);
    else target.pushes().offer(connection.number(), message);
  }

  @Override
  public void behind(ConnectionId connection) {
    LoopConnections target = partOf(connection);
    if (target != null) target.pushes().behind(connection.number());
  }

  /**
   * Handles a message for a connection that does not exist on the calling loop. Reports the connection as missing to
   * the session tier, unless its end is being reported. The range that has pushed the message is not known here.
   */
  void undeliverable(LoopConnections part, long connection) {
    part.loop().meters().pushUndeliverable();
    if (part.sessionOf(connection) != null || isLeaving(connection)) return;
    var ranges = part.loop().tiers().inbox().ranges();
    for (int range = 0; range < ranges.size(); range++) ranges.get(range).missing(new ConnectionId(nodeId, lives.present(range), connection));
  }

  @Override
  public void displaced(ConnectionId connection) {
    onConnection(connection, Connection::takenOver);
  }

  @Override
  public void dismissed(ConnectionId connection) {
    onConnection(connection, target -> target.fail(ReasonCode.ADMINISTRATIVE_ACTION, "an operator has ended the connection"));
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    LoopConnections part = partOf(connection);
    if (part == null) return CompletableFuture.completedFuture(null);
    var settled = new CompletableFuture<Void>();
    part.loop().post(() -> part.loop().afterSockets(() -> answerWhenSettled(part, connection.number(), settled)));
    return settled;
  }

  private void answerWhenSettled(LoopConnections part, long connection, CompletableFuture<Void> settled) {
    LiveSession session = part.sessionOf(connection);
    // A DISCONNECT that has been read is noted by a task that is queued already; see Connection.close.
    Runnable behind = () -> part.loop().executor().execute(() -> leaving.told(connection).thenRun(() -> settled.complete(null)));
    if (session == null || session.settled()) behind.run();
    else session.inbound().whenSettled(behind);
  }

  /** Answers which of the connections that sessions of a range name are not there. */
  CompletableFuture<List<Long>> missing(int range, List<Owner> owners) {
    var answers = new ArrayList<CompletableFuture<List<Long>>>();
    owners.stream()
        .collect(Collectors.groupingBy(owner -> partOf(owner.connection())))
        .forEach(
            (part, its) -> {
              var answer = new CompletableFuture<List<Long>>();
              answers.add(answer);
              part.loop().post(() -> answer.complete(part.comparison(range).missing(its)));
            });
    return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
        .thenApply(_ -> answers.stream().flatMap(answer -> answer.join().stream()).toList());
  }

  /** Whether the session tier is still to be told of the end of a connection. */
  boolean isLeaving(long connection) {
    return leaving.knows(connection);
  }

  private void onConnection(ConnectionId connection, Consumer<Connection> task) {
    LoopConnections part = partOf(connection);
    if (part == null) return;
    part.loop().post(
        () -> {
          Connection target = part.table().get(connection.number());
          if (target != null) task.accept(target);
        });
  }

  private @Nullable LoopConnections partOf(ConnectionId connection) {
    if (!lives.isOfThisProcess(connection.incarnation()) || !connection.frontend().equals(nodeId)) return null;
    return partOf(connection.number());
  }

  /** The part with the connection of a number, if there is one. */
  LoopConnections partOf(long connection) {
    return parts[(int) (connection % parts.length)];
  }

  /**
   * Runs a task, on any thread, once all packets that came over a connection of this or another frontend have been
   * processed.
   *
   * @param range the range of its session
   */
  void whenSettled(int range, ConnectionId connection, Runnable then) {
    var here = partOf(connection) != null;
    var _ = (here ? settled(connection) : parts[0].loop().tiers().inbox().ranges().get(range).settled(connection)).thenRun(then);
  }

  /**
   * Reports the end of a connection to the session tier, repeatedly until it succeeds. This waits until the connection's
   * publishes are answered, for a limited time: its will, and what its client publishes over its next connection, come
   * after them.
   *
   * @param part the connections of the session's loop
   * @return completes, on the session's loop, after the first report; a connect that is called afterwards takes effect
   *     later than the end
   */
  CompletableFuture<Void> leave(LoopConnections part, LiveSession session, boolean publishWill, long sessionExpirySeconds) {
    long connection = session.connection().number();
    leaving.begin(connection, session.ref(), publishWill, sessionExpirySeconds);
    var told = new CompletableFuture<Void>();
    Runnable tell =
        () -> {
          leaving.tell(connection);
          told.complete(null);
        };
    // Another connection of the client before that displaces this one, and waits for its publishes.
    part.afterPublishes(session, tell);
    return told;
  }

  // ---------------------------------------------------------------------------------------------------------- sending clients away

  /** The drain in progress, or null. */
  public @Nullable Drain drain() {
    return drain;
  }

  /** Begins to send clients to another server, or stops with null. Calls must not be concurrent. */
  public void drain(@Nullable Drain begun) {
    drain = begun;
  }

  /** Disconnects all clients, asynchronously on each loop. */
  public void sendAllAway(ReasonCode reason, String explanation, String serverReference) {
    for (LoopConnections part : parts) {
      part.loop().post(
          () -> {
            for (Connection connection : part.table().all()) connection.sendAway(reason, explanation, serverReference);
          });
    }
  }

  /** Counts down once for each event loop, when the loop has no connections any more or at the deadline. */
  public void whenAllClosed(CountDownLatch closed, long deadlineNanos) {
    for (LoopConnections part : parts) awaitClosed(part, closed, deadlineNanos);
  }

  private static void awaitClosed(LoopConnections part, CountDownLatch closed, long deadlineNanos) {
    part.loop().post(
        () -> {
          if (part.table().size() == 0 || System.nanoTime() > deadlineNanos) closed.countDown();
          else part.loop().executor().schedule(() -> awaitClosed(part, closed, deadlineNanos), 10, TimeUnit.MILLISECONDS);
        });
  }
}
