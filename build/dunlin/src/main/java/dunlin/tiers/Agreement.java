package dunlin.tiers;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether all nodes of a cluster have said that they know what something adds to logs and links. */
public final class Agreement {
  /*
   * Owner: any thread asks whether there is one. look() is called by the housekeeping thread; a thread of its own, one at a time, asks the other nodes.
   * Bounds: one such thread. Questions have their deadlines.
   * Failure: as long as a node has not said so, there is none; the log says why, unless that changes from one look to the next, as while nodes start. Nodes that are down
   *   are not waited for. What was said is believed until this node ends: the replica of an earlier version that comes later stops at the first such entry, and says so.
   */
  private static final Logger log = LoggerFactory.getLogger(Agreement.class);

  private final String subject;
  private final Supplier<List<String>> unready;
  private final AtomicBoolean asking = new AtomicBoolean();

  private volatile boolean reached; // written by the asking thread

  // Used by the asking thread.
  private volatile List<String> last = List.of();
  private volatile List<String> told = List.of();

  /**
   * @param subject for the log
   * @param unready asks the other nodes; a sentence for each that has not said so
   */
  public Agreement(String subject, Supplier<List<String>> unready) {
    this.subject = subject;
    this.unready = unready;
  }

  public boolean isReached() {
    return reached;
  }

  /** Asks the other nodes, unless they have agreed. Quick; throws nothing. */
  public void look() {
    if (reached || !asking.compareAndSet(false, true)) return;
    Thread.ofPlatform().daemon().name("dunlin-agreement").start(this::ask);
  }

  private void ask() {
    try {
      var left = unready.get();
      if (left.isEmpty()) {
        reached = true;
        log.info("All nodes know {}, which holds from now on", subject);
      } else if (left.equals(last) && !left.equals(told)) {
        told = left;
        log.warn("All nodes must have said that they know {} before it holds: {}", subject, String.join("; ", left));
      }
      last = left;
    } catch (RuntimeException failure) {
      log.warn("Other nodes could not be asked whether they know {}, which does not hold yet", subject, failure);
    } finally {
      asking.set(false);
    }
  }
}
