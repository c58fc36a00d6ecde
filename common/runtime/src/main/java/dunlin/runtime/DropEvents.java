package dunlin.runtime;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Logs drops: for each hop and reason at most one line a second, with the number of messages since the previous line.
 *
 * <p>Once it is closed, the numbers of all lines add up to all drops.
 */
public final class DropEvents implements Events, AutoCloseable {
  /*
   * Owner: any thread. The thread that advances a tally's next time by compare-and-set writes the line.
   * Bounds: HOPS_MAX hops times the reasons; hops are constants in the code, so a further one is a bug, and is reported
   * as "other". A tally keeps the latest client id.
   * Failure: drops without a line when the process dies are missing in the log; the metrics have them.
   */
  private static final Logger log = LoggerFactory.getLogger("dunlin.events");
  private static final int HOPS_MAX = 64;
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final String node;
  private final LongSupplier nanoTime;
  private final Map<String, Map<DropReason, Tally>> tallies = new ConcurrentHashMap<>();

  public DropEvents(String node) {
    this(node, System::nanoTime);
  }

  DropEvents(String node, LongSupplier nanoTime) {
    this.node = node;
    this.nanoTime = nanoTime;
  }

  @Override
  public void dropped(String hop, DropReason reason, long messages, String clientId) {
    Tally tally = tally(hop, reason);
    tally.messages.add(messages);
    if (!clientId.isEmpty()) tally.latestClientId = clientId;
    tally.writeIfDue();
  }

  /** Logs drops whose second has passed. The node's housekeeping calls it about once a second. */
  public void flush() {
    for (Map<DropReason, Tally> ofHop : tallies.values()) {
      for (Tally tally : ofHop.values()) tally.writeIfDue();
    }
  }

  /** Logs all remaining drops. */
  @Override
  public void close() {
    for (Map<DropReason, Tally> ofHop : tallies.values()) {
      for (Tally tally : ofHop.values()) tally.write();
    }
  }

  private Tally tally(String hop, DropReason reason) {
    Map<DropReason, Tally> ofHop = tallies.get(hop);
    if (ofHop == null) ofHop = tallies.computeIfAbsent(tallies.size() < HOPS_MAX ? hop : "other", this::newTallies);
    return Objects.requireNonNull(ofHop.get(reason));
  }

  /** A tally for every reason, so that the map is never changed afterwards. */
  private Map<DropReason, Tally> newTallies(String hop) {
    Map<DropReason, Tally> ofHop = new EnumMap<>(DropReason.class);
    long now = nanoTime.getAsLong();
    for (DropReason reason : DropReason.values()) ofHop.put(reason, new Tally(hop, reason, now));
    return ofHop;
  }

  /** The drops of one hop for one reason since the last line about them. */
  private final class Tally {
    private final String hop;
    private final DropReason reason;
    private final LongAdder messages = new LongAdder();
    private final AtomicLong nextLineNanos;

    private volatile String latestClientId = ""; // any thread writes; the last one wins

    Tally(String hop, DropReason reason, long now) {
      this.hop = hop;
      this.reason = reason;
      nextLineNanos = new AtomicLong(now);
    }

    void writeIfDue() {
      long now = nanoTime.getAsLong();
      long next = nextLineNanos.get();
      if (now - next >= 0 && nextLineNanos.compareAndSet(next, now + INTERVAL_NANOS)) write();
    }

    /** A concurrent addition may miss this sumThenReset and count for the next line, but is never lost or counted twice. */
    void write() {
      long dropped = messages.sumThenReset();
      if (dropped == 0) return;
      EventLine.of(log, Level.WARN, "messages-dropped")
          .word("node", node)
          .word("hop", hop)
          .word("reason", reason.tag())
          .number("messages", dropped)
          .text("client", latestClientId)
          .write();
    }
  }
}
