package dunlin.links;

import dunlin.transport.link.Pipe;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** One end of a stream within this process, for a link between two tiers of the same node: frames need no socket. */
abstract class LocalPipe implements Pipe {
  /*
   * Each end hands what it sends to the thread of the other one, as a task. Both threads run tasks in their order, so
   * the other end sees frames in the order in which they were sent, and the end behind the last one.
   *
   * Owner: each end belongs to the thread of its link.
   * Bounds: the link's. It confirms what its thread has taken, and sends no more than its bounds allow to be
   * unconfirmed. So that is also the most that waits as tasks.
   * Failure: when one of the threads has ended, so have both ends.
   */
  private final Executor owner;

  /** Set before the first task of either thread. */
  private @Nullable LocalPipe other;

  private boolean closed;
  private boolean over;

  /** @param owner runs tasks on the thread of this end's link, in the order of each submitting thread */
  LocalPipe(Executor owner) {
    this.owner = owner;
  }

  /** Joins two ends, before anything is sent. */
  static void join(LocalPipe one, LocalPipe two) {
    one.other = two;
    two.other = one;
  }

  /** A frame of the other end has arrived. On this end's thread. */
  abstract void arrived(byte[] frame);

  /** The stream has ended. On this end's thread, once. */
  abstract void ended();

  @Override
  public void send(byte[] frame) {
    var to = other;
    if (closed || to == null) return;
    if (!to.hand(() -> to.arrived(frame))) close();
  }

  @Override
  public void close() {
    if (closed) return;
    closed = true;
    if (other != null) other.endSoon();
    endSoon();
  }

  /** Ends this end behind what was handed to its thread before. Any thread. */
  private void endSoon() {
    hand(
        () -> {
          closed = true;
          if (over) return;
          over = true;
          ended();
        });
  }

  /** Answers false when the thread has ended. */
  boolean hand(Runnable task) {
    try {
      owner.execute(task);
      return true;
    } catch (RejectedExecutionException ended) {
      return false;
    }
  }
}
