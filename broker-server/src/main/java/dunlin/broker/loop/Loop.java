package dunlin.broker.loop;

import dunlin.broker.auth.AskingLoop;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.meter.FrontendMeters;
import dunlin.broker.meter.LoopCounts;
import dunlin.broker.meter.Traffic;
import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * One event loop: its lane, what others have posted to it, and what has been gathered on it in this round for sockets and for other loops.
 * Who lives on it, connections and their sessions, it calls by {@link Resident}.
 *
 * <p>A round is what the loop does between two waits: it reads what has arrived on its sockets, runs what others have
 * posted, and at the end flushes each connection that was written to and sends each other loop one batch.
 */
public final class Loop implements AskingLoop {
  /*
   * Owner: the thread of its event loop; post and the read-only numbers are for all.
   * Bounds: arrivals has no bound of its own, but everything in it has: batches within lane windows, answers of the stores
   *   within the stores' proposal bounds, at most one connect, subscribe or fetch for each connection, one turn of the PushQueue.
   * Failure: a task that fails takes no other with it: it is logged and counted.
   */
  private static final int ARRIVALS_A_ROUND = 4_096;

  /** Connections flushed before the loop looks at its sockets again: each flush is a system call of some microseconds. */
  private static final int FLUSHES_A_ROUND = 128;

  /** How often the loop calls its {@link Resident} for what only time brings. */
  public static final int TICK_MILLIS = 100;

  private final Loops loops;
  private final int index;
  private final EventLoop executor;
  private final LaneWindow window;
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

  /** What is written to in a round, and flushed at its end. */
  public interface Written {
    void flushRound();
  }

  /** What lives on a loop, as far as the loop calls it; on its thread. */
  public interface Resident {
    /**
     * Takes a message that another loop has passed on.
     *
     * @param target for whom it is, as the sender has said it
     * @param acknowledgement of the message, with an answer of the caller's to come; null for none
     * @param from the loop whose lane it holds credit of
     * @return false when it has to wait here: then it keeps its credit, and the answer is the taker's
     */
    boolean arrive(Publication message, Object target, @Nullable Acknowledgement acknowledgement, Loop from);

    /** {@link #TICK_MILLIS} have passed. */
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

  /** First thing on the loop's own thread. */
  public void start(Resident whoLivesHere) {
    ((LoopThread) Thread.currentThread()).carry(this);
    resident = whoLivesHere;
    lane = tiers().dist().openLane(index, this::post, window);
    executor.scheduleAtFixedRate(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** This one and the others. */
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

  public LoopCounts counts() {
    return counts;
  }

  public Traffic.Local traffic() {
    return traffic;
  }

  public Lane lane() {
    return Objects.requireNonNull(lane, "not started");
  }

  Resident resident() {
    return Objects.requireNonNull(resident, "not started");
  }

  public boolean isCurrent() {
    return executor.inEventLoop();
  }

  /** The time of the tiers as of this round's last look at it. */
  public long nowMillis() {
    return nowMillis;
  }

  /** Looks at the clock; once for each read of a connection is often enough. */
  public long readClock() {
    nowMillis = loops.clock().millis();
    return nowMillis;
  }

  /**
   * Runs something on this loop: at once when called on it, and then before what others have posted earlier; otherwise soon, in
   * the order of each caller's posts.
   */
  public void run(Runnable task) {
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

  public int arrivalsWaiting() {
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

  /** Has something flushed at the end of the round. */
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
    // Flushing may make a channel writable again and so bring more to write, for the next round's list.
    ArrayList<Written> due = written;
    written = flushing;
    flushing = due;
    int now = Math.min(due.size(), FLUSHES_A_ROUND);
    for (int i = 0; i < now; i++) due.get(i).flushRound();
    for (int i = now; i < due.size(); i++) flushLater.add(due.get(i));
    due.clear();
    if (!flushLater.isEmpty()) flushMore(FLUSHES_A_ROUND - now / 2);
  }

  /** Flushes what was written in this round so far: for who needs memory that sockets may take over. */
  public void flushNow() {
    for (int left = written.size(); left > 0 && !written.isEmpty(); left--) written.removeLast().flushRound();
    for (int left = flushLater.size(); left > 0 && !flushLater.isEmpty(); left--) flushLater.remove().flushRound();
  }

  /** Flushes some of what a broadcast has left to flush, then lets the sockets have their turn. */
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

  /** Runs something on this loop after it has looked at its sockets once more. */
  public void afterSockets(Runnable task) {
    // A task that is merely submitted would run in the same pass over the tasks, before any socket.
    if (executor instanceof SingleThreadEventLoop single) {
      single.executeAfterEventLoopIteration(() -> executor.execute(task));
    } else {
      executor.execute(task);
    }
  }

  private void tick() {
    readClock();
    resident().tick();
  }
}
