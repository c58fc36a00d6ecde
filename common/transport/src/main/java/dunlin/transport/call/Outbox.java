package dunlin.transport.call;

import dunlin.transport.lane.FrameWriter;
import dunlin.transport.link.Link;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What any thread says to the other side of a link: it is sent in the order in which it was added, all that waits in as few frames as it fits. */
public final class Outbox<T> {
  /*
   * Owner: the link's thread, but for add() and announce().
   * Bounds: what waits is bounded by those who add it. A frame ends as soon as it has FRAME_BYTES, so it is longer than that by one item at most.
   *   Nothing is sent while the link is half full: it waits, until the link says that something is confirmed. A sender may also have it wait until
   *   the link is connected. A turn takes TURN_ITEMS, so that the thread comes to other links as well.
   * Failure: when a link is lost and another one may follow, what waits stays; it is sent behind what is said again. After end(), what waits and what
   *   is still added is handed back.
   */
  private static final int FRAME_BYTES = 64 * 1_024;
  private static final int TURN_ITEMS = 4_096;

  /** Whose things are sent. On the link's thread. */
  public interface Sender<T> {
    /** Whether nothing is to be written while the link is not connected. The sender asks for a {@link Outbox#turn} when it is. */
    default boolean waitsForConnection() {
      return false;
    }

    /** A turn begins; what is added now may be sent in it. */
    default void begins() {}

    void write(FrameWriter out, T item);

    /** All that was written since the frame before has been given to the link. */
    default void sent() {}

    /** There will be no further link, and the item was not written. */
    void unsent(T item);
  }

  private final Executor owner;
  private final Sender<T> sender;
  private final ConcurrentLinkedQueue<T> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean announced = new AtomicBoolean();

  /** What is said again, in front of what waits. */
  private final ArrayDeque<T> again = new ArrayDeque<>();

  private final FrameWriter out = new FrameWriter();
  private @Nullable Link link;
  private boolean ended;

  /** @param owner runs tasks on the link's thread, soon, in their order */
  public Outbox(Executor owner, Sender<T> sender) {
    this.owner = owner;
    this.sender = sender;
  }

  /** Sends on this link from now on, also what was added before. */
  public void opens(Link opened) {
    link = opened;
    if (anyWaits()) announce();
  }

  /** The link is lost. What waits is sent on the next one, behind what is said again. */
  public void pauses(List<T> saidAgain) {
    link = null;
    for (T each : saidAgain.reversed()) again.addFirst(each);
  }

  private boolean anyWaits() {
    return !again.isEmpty() || !waiting.isEmpty();
  }

  private @Nullable T next() {
    T first = again.poll();
    return first == null ? waiting.poll() : first;
  }

  /** Any thread. */
  public void add(T item) {
    waiting.add(item);
    announce();
  }

  /** Removes what waits and need not be sent. Any thread. */
  public void removeIf(Predicate<T> needless) {
    waiting.removeIf(needless);
  }

  /** What was added and has not been sent, counted one by one. Any thread. */
  public int waiting() {
    return waiting.size();
  }

  /** Asks for a turn. Any thread. */
  public void announce() {
    if (!announced.get() && announced.compareAndSet(false, true)) owner.execute(this::run);
  }

  private void run() {
    announced.set(false);
    turn();
  }

  /** Sends what waits, as far as the link has room. */
  public void turn() {
    if (ended) {
      handBack();
      return;
    }
    var to = link;
    if (to == null) return;
    sender.begins();
    // Sending may lose the link.
    for (int i = 0; i < TURN_ITEMS && !ended && to.equals(link) && takesMore(to); i++) {
      T next = next();
      if (next == null) break;
      sender.write(out, next);
      if (out.size() >= FRAME_BYTES) send(to);
    }
    if (out.size() > 0 && !ended) send(to);
    if (anyWaits() && to.equals(link) && takesMore(to)) announce();
  }

  private boolean takesMore(Link to) {
    return to.hasRoom() && (to.isConnected() || !sender.waitsForConnection());
  }

  private void send(Link to) {
    to.send(out.take());
    sender.sent();
  }

  /** The link is over, and no other follows. */
  public void end() {
    ended = true;
    handBack();
  }

  private void handBack() {
    for (T item = next(); item != null; item = next()) sender.unsent(item);
  }
}
