package dunlin.broker.connect;

import dunlin.broker.fanout.LoopFanout;
import dunlin.broker.loop.Loop;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.LoopSessions;
import dunlin.broker.session.RecordedPublishes;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.runtime.DropReason;
import dunlin.transport.Acknowledgement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The connections of one event loop and the state that they share. */
public final class LoopConnections implements Loop.Resident {
  /*
   * Owner: the event loop.
   * Bounds: those of its parts. An ended connection is kept while its publishes are unanswered, for at most the time
   * that any message may wait plus RecordedPublishes.FOLLOW_MILLIS.
   */
  private static final int ACCESS_CHECKS_A_ROUND = 256;

  private static final int LOOKS_A_ROUND = 256;

  private final Reception reception;
  private final LoopSessions sessions;
  private final LoopFanout fanout;
  private final Loop loop;
  private final KeepAliveWheel keepAlive = new KeepAliveWheel();
  private final SocketMemory socketMemory;
  private final InputMemory inputMemory;
  private final ReadSizes readSizes = new ReadSizes();
  private final TenantLines tenantLines = new TenantLines();
  private final ConnectionTable connections = new ConnectionTable();

  /** By the number of the range. */
  private final List<TierComparison> comparisons;

  private final PushQueue pushes = new PushQueue(this, PushQueue.MESSAGES_MAX, PushQueue.BYTES_MAX);

  /**
   * Sessions whose connections have ended before their publishes were answered, by the connections' numbers, the earliest
   * first.
   */
  private final LinkedHashMap<Long, Unsettled> unsettled = new LinkedHashMap<>();

  private final long unsettledNanosMax;

  private record Unsettled(LiveSession session, Runnable then, long sinceNanos) {}

  LoopConnections(Reception reception, LoopSessions sessions) {
    this.reception = reception;
    this.sessions = sessions;
    this.fanout = sessions.fanout();
    this.loop = sessions.loop();
    this.unsettledNanosMax = TimeUnit.MILLISECONDS.toNanos(RecordedPublishes.patienceMillis(loop.settings()));
    this.comparisons = IntStream.range(0, reception.ranges()).mapToObj(range -> new TierComparison(this, range)).toList();
    this.socketMemory = new SocketMemory(loop.budget().sockets().share());
    this.inputMemory = new InputMemory(loop, loop.budget());
  }

  public Loop loop() {
    return loop;
  }

  public LoopSessions sessions() {
    return sessions;
  }

  /** The state that they share with the connections of other loops. */
  Reception reception() {
    return reception;
  }

  public PushQueue pushes() {
    return pushes;
  }

  /** Of the connections to sessions of a range. */
  TierComparison comparison(int range) {
    return comparisons.get(range);
  }

  KeepAliveWheel keepAlive() {
    return keepAlive;
  }

  SocketMemory socketMemory() {
    return socketMemory;
  }

  InputMemory inputMemory() {
    return inputMemory;
  }

  TenantLines tenantLines() {
    return tenantLines;
  }

  ReadSizes readSizes() {
    return readSizes;
  }

  ConnectionTable table() {
    return connections;
  }

  /** Answers how long the oldest publish of its clients has waited to be acknowledged, in milliseconds; 0 without any. Looks at some clients in each round of the loop. */
  public void oldestPublish(CompletableFuture<Long> answer) {
    @Nullable Connection[] all = connections.copy();
    long[] oldest = {0};
    CompletableFuture<Void> done = new CompletableFuture<>();
    var _ = done.thenRun(() -> answer.complete(oldest[0]));
    loop.visit(
        all.length, LOOKS_A_ROUND,
        i -> {
          Connection each = all[i];
          LiveSession session = each == null ? null : each.session();
          if (session != null) oldest[0] = Math.max(oldest[0], session.oldestPublishMillis());
        },
        done);
  }

  @Override
  public boolean arrive(Publication message, Object target, @Nullable Acknowledgement acknowledgement, Loop from) {
    if (!(target instanceof DirectCopy(long connection, InboxMessage copy))) return fanout.arrive(message, target, acknowledgement, from);
    pushed(connection, copy);
    return true;
  }

  @Override
  public void tick() {
    keepAlive.tick();
    inputMemory.tick();
    socketMemory.tick();
    tenantLines.tick();
    sessions.messageMemory().tick();
    giveUpUnsettled(System.nanoTime());
  }

  /** Ends connections of clients that may not be connected any more, and subscriptions that access rules do not allow any more, some sessions at a time. */
  void checkAccess() {
    checkAccess(connections.copy(), 0);
  }

  private void checkAccess(@Nullable Connection[] all, int from) {
    int end = Math.min(all.length, from + ACCESS_CHECKS_A_ROUND);
    for (int i = from; i < end; i++) {
      Connection each = all[i];
      if (each == null) continue;
      loop.runSafely(each::checkUser);
      LiveSession session = each.session();
      if (session != null) loop.runSafely(session::checkAccess);
    }
    if (end < all.length) loop.afterSockets(() -> checkAccess(all, end));
  }

  /** The session of an open connection, or of an ended one with unanswered publishes; else null. */
  @Nullable LiveSession sessionOf(long connection) {
    Connection present = connections.get(connection);
    if (present != null) return present.session();
    Unsettled left = unsettled.get(connection);
    return left == null ? null : left.session();
  }

  /**
   * Runs a task once all publishes of a session's ended connection are answered, or when that has taken longer than any
   * message may wait.
   */
  void afterPublishes(LiveSession session, Runnable then) {
    if (session.settled()) {
      then.run();
      return;
    }
    long number = session.connection().number();
    unsettled.put(number, new Unsettled(session, then, System.nanoTime()));
    session.inbound().whenSettled(
        () -> {
          Unsettled left = unsettled.remove(number);
          if (left != null) then.run();
        });
  }

  /** Stops waiting for publishes of connections that ended too long ago. */
  void giveUpUnsettled(long nowNanos) {
    for (var first = unsettled.firstEntry(); first != null; first = unsettled.firstEntry()) {
      if (nowNanos - first.getValue().sinceNanos() < unsettledNanosMax) return;
      unsettled.pollFirstEntry();
      loop.meters().leftUnsettled();
      loop.runSafely(first.getValue().then());
    }
  }

  /**
   * Hands a pushed message to a connection, from the lane of this loop. A copy for another loop holds credit of the
   * lane until it arrives.
   */
  void passOn(LoopConnections target, long connection, InboxMessage message) {
    if (target == this) {
      pushed(connection, message);
      return;
    }
    loop.window().take(message.message().body().length);
    loop.batchTo(target.loop).add(message.message(), new DirectCopy(connection, message), null);
  }

  /** Handles a message that the session tier pushes to a connection of this loop. */
  void pushed(long connection, InboxMessage message) {
    Connection target = connections.get(connection);
    if (target == null) reception.undeliverable(this, connection);
    else if (target.pushed(message)) return;
    if (message.qos() != QoS.AT_MOST_ONCE) return; // the message is in the inbox
    loop.counts().copies().received(message.message(), null);
    loop.counts().copies().dropped(DropReason.SESSION_ENDED, message.message(), null);
  }

  /** Tells a connection that more messages are stored for it than were pushed. */
  void behind(long connection) {
    Connection target = connections.get(connection);
    if (target == null) reception.undeliverable(this, connection);
    else target.behind();
  }
}
