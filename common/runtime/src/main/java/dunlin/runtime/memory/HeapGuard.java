package dunlin.runtime.memory;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says when so much of the heap is live that nothing more may be kept there. Each kind of memory that clients use has a budget of its own, and all of them
 * together may be more than the heap, since they are seldom used up at once. This keeps them from being that.
 */
public final class HeapGuard {
  /*
   * Live is what the old generation had after it was last collected: the JVM's collection usage. G1 sets that also when it has only marked what is garbage, and in the young collections that remove it step by step.
   * So what G1 says counts only when the next marking finds as much, with no less between: G1 begins that only once it has removed what it could. A full collection counts at once.
   *
   * Owner: one thread looks, some times a second; any thread asks.
   * Bounds: what is accepted between a collection, the next look and those who ask is not held back; the part of the heap above the maximum is for that.
   * Failure: a collector that does not say what it has found, or has not collected yet, never makes it full. What was released counts until the next collection, which comes with the traffic. While the heap is full,
   *   G1 is asked to mark it when there was no collection for PERIOD_MILLIS, unless an operator has said when it is to.
   */
  private static final Logger LOG = LoggerFactory.getLogger(HeapGuard.class);

  /** A guard for a heap that has room in any case. */
  public static final HeapGuard OFF = new HeapGuard(() -> Found.NOTHING, 100);

  /** What is full has room again when there is this part of its maximum, so that it does not change with each collection. */
  private static final double AGAIN = 0.96;

  private static final String G1_MARKING = "G1 Concurrent GC";
  private static final String G1_FULL = "G1 Old Generation";
  private static final String G1_PERIOD = "G1PeriodicGCInterval";
  private static final String PERIOD_MILLIS = "30000";

  /** A marking has two pauses, and a look may come between them. */
  private static final int PAUSES_OF_A_MARKING = 2;

  /**
   * What a collector has found.
   *
   * @param share the part of the old generation's maximum that its last collection has left, from 0 to 1; 0 when that is not known
   * @param markings how many pauses there were for marking, after which garbage is still there; {@link #EXACT} for a collector that removes it before it says what is left
   * @param whole how many collections there were that have removed all garbage, of a collector that marks
   */
  public record Found(double share, long markings, long whole) {
    public static final long EXACT = -1;
    static final Found NOTHING = new Found(0, EXACT, 0);
  }

  /** A collector. */
  @FunctionalInterface
  public interface Live {
    Found found();

    /** Has it collect also when the application needs nothing, or no longer. */
    default void collectOften(boolean often) {}
  }

  private final Live live;
  private final double most;
  private volatile boolean full;
  private final AtomicLong timesFull = new AtomicLong();

  // Used by the thread that looks.
  private boolean suspected;
  private boolean sure;
  private long markingsAtFirst;
  private long wholeBefore;

  /** @param percent the part of the heap that may be live, from 1; 100 for a guard that is never full */
  public HeapGuard(Live live, int percent) {
    if (percent < 1 || percent > 100) throw new IllegalArgumentException("percent " + percent);
    this.live = live;
    most = percent / 100.0;
  }

  /** Guards the heap of this process. */
  public static HeapGuard ofThisProcess(int percent) {
    // Objects grow old in the pool that can have a threshold of use: the others are emptied by each collection.
    MemoryPoolMXBean old =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP && pool.isUsageThresholdSupported() && pool.isCollectionUsageThresholdSupported())
            .findFirst()
            .orElse(null);
    return new HeapGuard(old == null ? () -> Found.NOTHING : new OldGeneration(old, collector(G1_MARKING), collector(G1_FULL)), percent);
  }

  private static @Nullable GarbageCollectorMXBean collector(String name) {
    return ManagementFactory.getGarbageCollectorMXBeans().stream().filter(each -> each.getName().equals(name)).findFirst().orElse(null);
  }

  private record OldGeneration(MemoryPoolMXBean pool, @Nullable GarbageCollectorMXBean marking, @Nullable GarbageCollectorMXBean full) implements Live {
    @Override
    public Found found() {
      // Counted first: a full collection that comes between is noticed by the next look.
      long whole = full == null ? 0 : full.getCollectionCount();
      long markings = marking == null ? Found.EXACT : marking.getCollectionCount();
      MemoryUsage usage = pool.getCollectionUsage();
      return new Found(usage.getMax() <= 0 ? 0 : (double) usage.getUsed() / usage.getMax(), markings, whole);
    }

    @Override
    public void collectOften(boolean often) {
      if (marking == null) return;
      var jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
      VMOption period = jvm.getVMOption(G1_PERIOD);
      String expected = often ? "0" : PERIOD_MILLIS;
      if (period.isWriteable() && period.getValue().equals(expected)) jvm.setVMOption(G1_PERIOD, often ? PERIOD_MILLIS : "0");
    }
  }

  /** Looks at what is live now. One thread. */
  public void look() {
    if (most == 1) return;
    Found found = live.found();
    boolean was = full;
    boolean high = found.share >= (was ? AGAIN * most : most);
    if (!high) {
      suspected = false;
      sure = false;
    } else if (found.markings == Found.EXACT || found.whole != wholeBefore) {
      sure = true;
    } else if (!suspected) {
      suspected = true;
      markingsAtFirst = found.markings;
    } else if (found.markings - markingsAtFirst >= PAUSES_OF_A_MARKING) {
      sure = true;
    }
    wholeBefore = found.whole;
    boolean now = high && (was || sure);
    if (now == was) return;
    if (now) timesFull.incrementAndGet();
    full = now;
    live.collectOften(full);
    long percent = Math.round(100 * found.share);
    if (full) LOG.warn("The heap is full: {} % of it is live. New sessions, subscriptions and retained topics are refused (dunlin.memory.live-max)", percent);
    else LOG.info("The heap has room again: {} % of it is live", percent);
  }

  /** How many times it has become full. Any thread. */
  public long timesFull() {
    return timesFull.get();
  }

  /** Whether nothing more may be kept: no session, subscription or retained topic that was not there. Any thread. */
  public boolean isFull() {
    return full;
  }

  /** The part of the heap that is live, from 0 to 1; 0 when that is not known. Any thread. */
  public double live() {
    return live.found().share;
  }
}
