package dunlin.broker.loop;

import dunlin.broker.auth.AskingLoop;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.meter.FrontendMeters;
import dunlin.broker.meter.LoopCounts;
import dunlin.broker.meter.Traffic;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.TierAnswers;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * One event loop: its lane, the tasks that other threads have posted, and the output of this round for sockets and
 * other loops. It calls its connections and sessions through {@link Resident}.
 *
 * <p>A round is the loop's work between two waits: it reads from its sockets, runs posted tasks, and at the end flushes
 * each connection that was written to and sends one batch to each other loop.
 */
public final class Loop implements AskingLoop {
  /*
   * Owner: the thread of its event loop; any thread may call post and the read-only numbers.
   * Bounds: arrivals has no bound itself, but everything in it has: batches within lane windows, answers of the stores
   * within the stores' proposal bounds, at most one connect, subscribe or fetch for each connection, one turn of the
   * PushQueue.
   * Failure: a task that fails is logged and counted, and does not affect other tasks.
   */
  private static final int ARRIVALS_A_ROUND = 4_096;

  /**
   * Number of connections that are flushed before the loop serves its sockets again: each flush is a system call of
   * some microseconds.
   */
  private static final int FLUSHES_A_ROUND = 128;

  /** The interval at which the loop calls {@link Resident#tick}. */
  public static final int TICK_MILLIS = 100;

  private final Loops loops;
  private final int index;
  private final EventLoop executor;
  private final LaneWindow window;
  private final Turns turns = new Turns(this::afterSockets);
  private final LoopCounts counts;
  private final Traffic.Local traffic;

  private final MpscUnboundedArrayQueue<Runnable> arrivals = new MpscUnboundedArrayQueue<>(1_024);
  private final AtomicBoolean arrivalsAnnounced = new AtomicBoolean();

  private final @Nullable LoopBatch[] batches;
  private ArrayList<Written> written = new ArrayList<>();
  private ArrayList<Written> flushing = new ArrayList<>();
  private @Nullable Lane lane;
  private @Nullable Resident resident;
  private final ArrayDeque<Written> flushLater = new ArrayDeque<>();
  private boolean flushMoreDue;
  private boolean roundEndDue;
  private long nowMillis;

  /** Something that is written to in a round and flushed at its end. */
  public interface Written {
    void flushRound();
  }

  /** The connections and sessions of a loop, as the loop calls them; on its thread. */
  public interface Resident {
    /**
     * Receives a message from another loop.
     *
     * @param target the target of the message, as set by the sender
     * @param acknowledgement the message's acknowledgement, which still expects an answer from the caller; null for
     *     none
     * @param from the loop whose lane's credit it holds
     * @return false if the message has to wait: then it keeps its credit, and the receiver answers for it
     */
    boolean arrive(Publication message, Object target, @Nullable Acknowledgement acknowledgement, Loop from);

    /** Called every {@link #TICK_MILLIS}. */
    void tick();
  }

  Loop(Loops loops, int index, EventLoop executor) {
    this.loops = loops;
    this.index = index;
    this.executor = executor;
    this.nowMillis = loops.clock().millis();
    FrontendSettings.Lanes lanes = loops.settings().lanes();
    this.window = new LaneWindow(lanes.messagesMax(), lanes.bytesMax());
    this.counts = loops.meters().newCounts();
    this.traffic = loops.meters().traffic().local();
    this.batches = new @Nullable LoopBatch[lanes.count()];
  }

  /** Starts the loop; must be called first on its own thread. */
  public void start(Resident whoLivesHere) {
    ((LoopThread) Thread.currentThread()).carry(this);
    resident = whoLivesHere;
    lane = tiers().dist().openLane(index, this::post, window);
    executor.scheduleAtFixedRate(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** All event loops of the frontend. */
  public Loops loops() {
    return loops;
  }

  public FrontendSettings settings() {
    return loops.settings();
  }

  public NodeBudget budget() {
    return loops.budget();
  }

  public FrontendMeters meters() {
    return loops.meters();
  }

  public Tiers tiers() {
    return loops.tiers();
  }

  public int index() {
    return index;
  }

  @Override
  public EventLoop executor() {
    return executor;
  }

  public LaneWindow window() {
    return window;
  }

  public Turns turns() {
    return turns;
  }

  public LoopCounts counts() {
    return counts;
  }

  public Traffic.Local traffic() {
    return traffic;
  }

  public Lane lane() {
    return Objects.requireNonNull(lane, "not started");
  }

  /**
   * Hands a message on to the lane; see {@link Lane#append}.
   *
   * @param publisher null for the node itself and the application that embeds it
   */
  public void handOn(Publication message, @Nullable Party publisher, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    counts.publishes().note(Step.HANDED_ON, "", message, publisher);
    lane().append(message, feedback, acknowledgement);
  }

  /**
   * Has a message become the retained message of its topic.
   *
   * @param publisher as above
   * @param answer called once, on any thread, with the reason code, or {@link TierAnswers#RETAINED_FULL}
   */
  public void retain(Publication message, @Nullable Party publisher, Consumer<ReasonCode> answer) {
    meters().retained().asked();
    tiers()
        .retain()
        .set(
            message,
            reason -> {
              meters().retained().answered(reason);
              if (reason.isError()) counts.publishes().note(Step.NOT_RETAINED, reason.label(), message, publisher);
              else counts.publishes().note(Step.RETAINED, "", message, publisher);
              answer.accept(reason == ReasonCode.QUOTA_EXCEEDED ? TierAnswers.RETAINED_FULL : reason);
            });
  }

  Resident resident() {
    return Objects.requireNonNull(resident, "not started");
  }

  public boolean isCurrent() {
    return executor.inEventLoop();
  }

  /** The tiers' wall clock as last read in this round. */
  public long nowMillis() {
    return nowMillis;
  }

  /** Reads the clock; called once for each read of a connection. */
  public long readClock() {
    nowMillis = loops.clock().millis();
    return nowMillis;
  }

  /**
   * Runs a task on this loop. When called on the loop, it runs at once, before tasks that were posted earlier;
   * otherwise soon, in the order of each caller's posts.
   */
  public void run(Runnable task) {
    if (isCurrent()) {
      task.run();
    } else {
      post(task);
    }
  }

  /**
   * Runs a task on this loop soon. Any thread; tasks of one thread keep their order. Work that follows an answer of a
   * store is posted even on the loop itself, because an immediate answer must not overtake an earlier one that is still
   * in the queue. Only the answer to a connect is run directly, because pushes that follow it may be posted before its
   * callback is registered.
   */
  @Override
  public void post(Runnable task) {
    arrivals.offer(task);
    if (!arrivalsAnnounced.get() && arrivalsAnnounced.compareAndSet(false, true)) announceArrivals();
  }

  public int arrivalsWaiting() {
    return arrivals.size();
  }

  private void announceArrivals() {
    try {
      executor.execute(this::takeArrivals);
    } catch (RejectedExecutionException _) {
      // The loop has shut down, and with it all receivers of the arrivals.
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

  /** Runs a task; a failure is logged and counted, and does not affect other tasks. */
  public void runSafely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | AssertionError e) {
      meters().unexpected("a task of an event loop failed", e);
    }
  }

  /** The batch of this round for another loop. */
  public LoopBatch batchTo(Loop target) {
    LoopBatch batch = batches[target.index];
    if (batch == null) {
      batches[target.index] = batch = new LoopBatch(this, target);
      endRoundSoon();
    }
    return batch;
  }

  /** Schedules a flush at the end of the round. */
  public void written(Written one) {
    written.add(one);
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
      loops.get(i).post(batch);
    }
    // Flushing may make a channel writable again and cause further writes; those belong to the next round's list.
    ArrayList<Written> due = written;
    written = flushing;
    flushing = due;
    int now = Math.min(due.size(), FLUSHES_A_ROUND);
    for (int i = 0; i < now; i++) due.get(i).flushRound();
    for (int i = now; i < due.size(); i++) flushLater.add(due.get(i));
    due.clear();
    if (!flushLater.isEmpty()) flushMore(FLUSHES_A_ROUND - now / 2);
  }

  /** Flushes what was written in this round so far, to free memory that sockets may accept. */
  public void flushNow() {
    for (int left = written.size(); left > 0 && !written.isEmpty(); left--) written.removeLast().flushRound();
    for (int left = flushLater.size(); left > 0 && !flushLater.isEmpty(); left--) flushLater.remove().flushRound();
  }

  /** Flushes some of the connections that a broadcast has left, then lets the loop serve its sockets. */
  private void flushMore(int count) {
    for (int left = count; left > 0; left--) {
      Written next = flushLater.poll();
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

  /** Runs a task on this loop after it has served its sockets once more. */
  public void afterSockets(Runnable task) {
    // A task that is only submitted would run in the same pass over the tasks, before the sockets are served.
    if (executor instanceof SingleThreadEventLoop single) {
      single.executeAfterEventLoopIteration(() -> executor.execute(task));
    } else {
      executor.execute(task);
    }
  }

  /**
   * Visits the numbers from 0 up to another one on this loop, some in each of its rounds, so that it serves its sockets in between. On this loop.
   *
   * @param slice how many it visits in a round
   * @param done completed at the end; nothing more is visited once it is done for another reason
   */
  public void visit(int count, int slice, IntConsumer each, CompletableFuture<Void> done) {
    visit(0, count, slice, each, done);
  }

  private void visit(int from, int count, int slice, IntConsumer each, CompletableFuture<Void> done) {
    if (done.isDone()) return;
    int end = Math.min(count, from + slice);
    for (int i = from; i < end; i++) each.accept(i);
    if (end == count) done.complete(null);
    else afterSockets(() -> visit(end, count, slice, each, done));
  }

  private void tick() {
    readClock();
    resident().tick();
  }
}
