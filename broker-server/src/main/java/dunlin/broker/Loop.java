package dunlin.broker;

import dunlin.broker.auth.AskingLoop;
import dunlin.broker.limit.Budget;
import dunlin.broker.meter.LoopCounts;
import dunlin.broker.meter.Traffic;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.runtime.DropReason;
import dunlin.runtime.LogText;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Everything that one event loop owns: its connections and their sessions, its lane, its share of the topic filters, and
 * what it has gathered in this round for sockets and for other loops.
 *
 * <p>A round is what the loop does between two waits: it reads what has arrived on its sockets, runs what others have
 * posted, and at the end flushes each connection that was written to and sends each other loop one batch.
 */
final class Loop implements AskingLoop {
  /*
   * Owner: the thread of its event loop; post and the read-only numbers are for all.
   * Bounds: arrivals has no bound of its own, but everything in it has: batches within lane windows, answers of the stores
   *   within the stores' proposal bounds, at most one connect, subscribe or fetch for each connection, one turn of the PushQueue.
   *   An ended connection is kept while what it published is not answered, as long as any message may wait and RecordedPublishes.FOLLOW_MILLIS more.
   * Failure: a task that fails takes no other with it, and a session that cannot be handed a message for a fault of ours no other session:
   *   it is logged and counted, and the publisher of QoS 1 and 2 gets an error.
   */
  private static final int ARRIVALS_A_ROUND = 4_096;

  /** Connections flushed before the loop looks at its sockets again: each flush is a system call of some microseconds. */
  private static final int FLUSHES_A_ROUND = 128;

  private final Frontend frontend;
  private final int index;
  private final EventLoop executor;
  private final LaneWindow window;
  private final KeepAliveWheel keepAlive = new KeepAliveWheel();
  private final LoopCounts counts;
  private final Traffic.Local traffic;
  private final GroupDelivery groups;
  private final WideFanout wide;
  private final MessageMemory messageMemory;
  private final Budget.Share subscriptionMemory;
  private final SocketMemory socketMemory;
  private final InputMemory inputMemory;
  private final ReadSizes readSizes = new ReadSizes();
  private final ConnectionTable connections = new ConnectionTable();
  private final RouteTable routes;
  private final PushQueue pushes = new PushQueue(this, PushQueue.MESSAGES_MAX, PushQueue.BYTES_MAX);

  private final MpscUnboundedArrayQueue<Runnable> arrivals = new MpscUnboundedArrayQueue<>(1_024);
  private final AtomicBoolean arrivalsAnnounced = new AtomicBoolean();

  private final @Nullable LoopBatch[] batches;
  private ArrayList<Connection> written = new ArrayList<>();
  private ArrayList<Connection> flushing = new ArrayList<>();
  private @Nullable Lane lane;
  private final ArrayDeque<Connection> flushLater = new ArrayDeque<>();
  private boolean flushMoreDue;
  private boolean roundEndDue;

  /** Durable sessions whose connections have ended before what they published has, by the connections' numbers, the first that ended first. */
  private final LinkedHashMap<Long, Unsettled> unsettled = new LinkedHashMap<>();

  private final long unsettledNanosMax;

  private record Unsettled(LiveSession session, Runnable then, long sinceNanos) {}

  private long nowMillis;

  private final ArrayList<LiveSession> merged = new ArrayList<>();

  /** Subscriptions whose retained messages have not all been read. */
  private int retainedReads;

  Loop(Frontend frontend, int index, EventLoop executor, int loopCount) {
    this.frontend = frontend;
    this.index = index;
    this.executor = executor;
    this.nowMillis = frontend.clock().millis();
    FrontendSettings settings = frontend.settings();
    this.window = new LaneWindow(settings.lanes().messagesMax(), settings.lanes().bytesMax());
    this.unsettledNanosMax = TimeUnit.MILLISECONDS.toNanos(RecordedPublishes.patienceMillis(settings));
    this.messageMemory = new MessageMemory(this, frontend.budget().outgoing().share());
    this.subscriptionMemory = frontend.budget().subscriptions().share();
    this.socketMemory = new SocketMemory(frontend.budget().sockets().share());
    this.inputMemory = new InputMemory(this, frontend.budget());
    this.counts = frontend.meters().newCounts();
    this.traffic = frontend.meters().traffic().local();
    this.groups = new GroupDelivery(this, System::nanoTime);
    this.wide = new WideFanout(this, settings.lanes().inlineFanoutThreshold());
    this.batches = new @Nullable LoopBatch[loopCount];
    this.routes = new RouteTable(this, loopCount, frontend.shard(), frontend.incarnation(), frontend.dist());
  }

  /** First thing on the loop's own thread. */
  void start() {
    ((LoopThread) Thread.currentThread()).carry(this);
    lane = frontend.dist().openLane(index, this::post, window);
    executor.scheduleAtFixedRate(
        this::tick, KeepAliveWheel.TICK_MILLIS, KeepAliveWheel.TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  Frontend frontend() {
    return frontend;
  }

  int index() {
    return index;
  }

  @Override
  public EventLoop executor() {
    return executor;
  }

  LaneWindow window() {
    return window;
  }

  PushQueue pushes() {
    return pushes;
  }

  RouteTable routes() {
    return routes;
  }

  KeepAliveWheel keepAlive() {
    return keepAlive;
  }

  Budget.Share subscriptionMemory() {
    return subscriptionMemory;
  }

  MessageMemory messageMemory() {
    return messageMemory;
  }

  SocketMemory socketMemory() {
    return socketMemory;
  }

  LoopCounts counts() {
    return counts;
  }

  Traffic.Local traffic() {
    return traffic;
  }

  GroupDelivery groups() {
    return groups;
  }

  WideFanout wide() {
    return wide;
  }

  ReadSizes readSizes() {
    return readSizes;
  }

  ConnectionTable connections() {
    return connections;
  }

  InputMemory inputMemory() {
    return inputMemory;
  }

  /** The session of a connection that is there, or whose publishes are; else null. */
  @Nullable LiveSession sessionOf(long connection) {
    Connection present = connections.get(connection);
    if (present != null) return present.session();
    Unsettled left = unsettled.get(connection);
    return left == null ? null : left.session();
  }

  /**
   * Runs something as soon as everything that came over a session's connection, which has ended, has come to its end; or when that has taken
   * longer than any message may wait.
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

  /** Waits no longer for what came over connections that ended too long ago. */
  void giveUpUnsettled(long nowNanos) {
    for (var first = unsettled.firstEntry(); first != null; first = unsettled.firstEntry()) {
      if (nowNanos - first.getValue().sinceNanos() < unsettledNanosMax) return;
      unsettled.pollFirstEntry();
      frontend.meters().leftUnsettled();
      runSafely(first.getValue().then());
    }
  }

  Lane lane() {
    return Objects.requireNonNull(lane, "not started");
  }

  /** Counts subscriptions whose retained messages are to be read. */
  void retainedReads(int more) {
    retainedReads += more;
  }

  /** Subscriptions whose retained messages have not all been read; any thread, may be stale. */
  int retainedReads() {
    return retainedReads;
  }

  boolean isCurrent() {
    return executor.inEventLoop();
  }

  /** The time of the tiers as of this round's last look at it. */
  long nowMillis() {
    return nowMillis;
  }

  /** Looks at the clock; once for each read of a connection is often enough. */
  long readClock() {
    nowMillis = frontend.clock().millis();
    return nowMillis;
  }

  /**
   * Runs something on this loop: at once when called on it, and then before what others have posted earlier; otherwise soon, in
   * the order of each caller's posts.
   */
  void run(Runnable task) {
    if (isCurrent()) {
      task.run();
    } else {
      post(task);
    }
  }

  /**
   * Runs something on this loop soon. Any thread; the posts of one thread keep their order. What follows an answer of a store is
   * posted even on the loop itself: an answer that was there at once must not overtake one before it that is still on its way.
   * Only the answer to a connect is run, since pushes may follow it that are posted before its callback is hung on.
   */
  @Override
  public void post(Runnable task) {
    arrivals.offer(task);
    if (!arrivalsAnnounced.get() && arrivalsAnnounced.compareAndSet(false, true)) announceArrivals();
  }

  int arrivalsWaiting() {
    return arrivals.size();
  }

  private void announceArrivals() {
    try {
      executor.execute(this::takeArrivals);
    } catch (RejectedExecutionException _) {
      // The loop has shut down, and with it everybody the arrivals were for.
      arrivals.clear();
    }
  }

  private void takeArrivals() {
    arrivalsAnnounced.set(false);
    readClock();
    for (int i = 0; i < ARRIVALS_A_ROUND; i++) {
      Runnable task = arrivals.poll();
      if (task == null) return;
      runSafely(task);
    }
    if (!arrivals.isEmpty() && arrivalsAnnounced.compareAndSet(false, true)) announceArrivals();
  }

  /** One faulty task must not take the tasks of others with it. */
  void runSafely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | AssertionError e) {
      frontend.meters().unexpected("a task of an event loop failed", e);
    }
  }

  /** The batch of this round for another loop. */
  LoopBatch batchTo(Loop target) {
    LoopBatch batch = batches[target.index];
    if (batch == null) {
      batches[target.index] = batch = new LoopBatch(this, target);
      endRoundSoon();
    }
    return batch;
  }

  /**
   * Hands what the session tier offers to a connection, from the lane of this loop. A copy that goes to another loop holds credit of the
   * lane until it has arrived.
   */
  void passOn(Loop target, long connection, InboxMessage message) {
    if (target == this) {
      pushed(connection, message);
      return;
    }
    window.take(message.message().body().length);
    batchTo(target).add(message.message(), new DirectCopy(connection, message), null);
  }

  /** The session tier offers a message to a connection of this loop. */
  void pushed(long connection, InboxMessage message) {
    Connection target = connections.get(connection);
    if (target == null) frontend.astray(this, connection);
    else if (target.pushed(message)) return;
    if (message.qos() != QoS.AT_MOST_ONCE) return; // it waits in the inbox
    counts.copies().received();
    counts.copies().dropped(DropReason.SESSION_ENDED);
  }

  /** More is stored for a connection than was pushed to it. */
  void behind(long connection) {
    Connection target = connections.get(connection);
    if (target == null) frontend.astray(this, connection);
    else target.behind();
  }

  /** Has the connection flushed at the end of the round. */
  void written(Connection connection) {
    written.add(connection);
    endRoundSoon();
  }

  private void endRoundSoon() {
    if (roundEndDue) return;
    roundEndDue = true;
    executor.execute(this::endRound);
  }

  private void endRound() {
    roundEndDue = false;
    for (int i = 0; i < batches.length; i++) {
      LoopBatch batch = batches[i];
      if (batch == null) continue;
      batches[i] = null;
      frontend.loop(i).post(batch);
    }
    // Flushing may make a channel writable again and so bring more to write, for the next round's list.
    ArrayList<Connection> due = written;
    written = flushing;
    flushing = due;
    int now = Math.min(due.size(), FLUSHES_A_ROUND);
    for (int i = 0; i < now; i++) due.get(i).flushRound();
    for (int i = now; i < due.size(); i++) flushLater.add(due.get(i));
    due.clear();
    if (!flushLater.isEmpty()) flushMore(FLUSHES_A_ROUND - now / 2);
  }

  /** Flushes what was written in this round so far: for who needs memory that sockets may take over. */
  void flushNow() {
    for (int left = written.size(); left > 0 && !written.isEmpty(); left--) written.removeLast().flushRound();
    for (int left = flushLater.size(); left > 0 && !flushLater.isEmpty(); left--) flushLater.remove().flushRound();
  }

  /** Flushes some of what a broadcast has left to flush, then lets the sockets have their turn. */
  private void flushMore(int count) {
    for (int left = count; left > 0; left--) {
      Connection next = flushLater.poll();
      if (next == null) return;
      next.flushRound();
    }
    if (flushLater.isEmpty() || flushMoreDue) return;
    flushMoreDue = true;
    afterSockets(
        () -> {
          flushMoreDue = false;
          flushMore(FLUSHES_A_ROUND);
        });
  }

  /** Runs something on this loop after it has looked at its sockets once more. */
  void afterSockets(Runnable task) {
    // A task that is merely submitted would run in the same pass over the tasks, before any socket.
    if (executor instanceof SingleThreadEventLoop single) {
      single.executeAfterEventLoopIteration(() -> executor.execute(task));
    } else {
      executor.execute(task);
    }
  }

  private void tick() {
    readClock();
    keepAlive.tick();
    inputMemory.tick();
    socketMemory.tick();
    messageMemory.tick();
    giveUpUnsettled(System.nanoTime());
  }

  /**
   * Hands a message to all subscribers of one filter on this loop; false when it has to wait its turn among the wide ones.
   *
   * @param acknowledgement of the message, with an answer of the caller's to come; null for none
   */
  boolean deliverToSubscribers(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    if (wide.takes(filter)) return false;
    SubscriberList subscribers = filter.on(index);
    if (subscribers == null) return true;
    for (int i = 0; i < subscribers.size(); i++) {
      Subscriber subscriber = subscribers.get(i);
      try {
        subscriber.session.offer(message, subscriber.options(), subscriber.identifiers());
      } catch (RuntimeException | AssertionError e) {
        notDelivered(subscriber.session, acknowledgement, e);
      }
    }
    return true;
  }

  /**
   * Hands a message that matched several filters to their subscribers on this loop: each session gets one copy, with the
   * highest QoS and all identifiers [MQTT-3.3.4-2, -3]; false when it has to wait its turn among the wide ones.
   *
   * @param acknowledgement as above
   */
  boolean deliverToSubscribers(
      Publication message, FilterHandle[] filters, int count, @Nullable Acknowledgement acknowledgement) {
    if (wide.takes(filters, count)) return false;
    merge(
        message,
        filters,
        count,
        acknowledgement,
        (session, options, identifiers) -> {
          try {
            session.offer(message, options, identifiers);
          } catch (RuntimeException | AssertionError e) {
            notDelivered(session, acknowledgement, e);
          }
        });
    return true;
  }

  /** Takes the one copy of a session whose subscriptions were merged. */
  interface MergedCopies {
    void copy(LiveSession session, SubscriptionOptions options, int[] identifiers);
  }

  /**
   * Finds the sessions on this loop that a message of several filters is for, and what the subscriptions of each ask for together. Whatever
   * happens, nothing of it is left for the next message.
   */
  void merge(
      Publication message, FilterHandle[] filters, int count, @Nullable Acknowledgement acknowledgement, MergedCopies copies) {
    assert merged.isEmpty() : "merging while another message is";
    int taken = 0;
    try {
      for (int i = 0; i < count; i++) merge(message, filters[i], acknowledgement);
      while (taken < merged.size()) {
        LiveSession session = merged.get(taken++);
        SubscriptionOptions options = session.takeMerged();
        if (options != null) copies.copy(session, options, session.mergedIdentifiers());
      }
    } finally {
      while (taken < merged.size()) merged.get(taken++).takeMerged();
      merged.clear();
    }
  }

  private void merge(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    SubscriberList subscribers = filter.on(index);
    if (subscribers == null) return;
    for (int i = 0; i < subscribers.size(); i++) {
      Subscriber subscriber = subscribers.get(i);
      try {
        if (subscriber.session.merge(message, subscriber)) merged.add(subscriber.session);
      } catch (RuntimeException | AssertionError e) {
        notDelivered(subscriber.session, acknowledgement, e);
      }
    }
  }

  /** A session could not be handed a message for a fault of ours: the others get it, and its publisher gets an error. */
  void notDelivered(LiveSession session, @Nullable Acknowledgement acknowledgement, Throwable fault) {
    frontend.meters().unexpected("a message could not be delivered to " + LogText.quoted(session.clientId()), fault);
    if (acknowledgement == null) return;
    acknowledgement.expect();
    acknowledgement.answer(ReasonCode.UNSPECIFIED_ERROR);
  }
}
