package dunlin.runtime.memory;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says when so much of the heap is live that nothing more may be kept there. Each kind of memory that clients use has a budget of its own, and all of them
 * together may be more than the heap, since they are seldom used up at once. This keeps them from being that.
 */
public final class HeapGuard {
  /*
   * Live is what the old generation had after it was last collected: the JVM's collection usage. G1 sets that also when it has only marked what is garbage, and removes it in the young collections that follow.
   * So what a marking has left counts only when the next one finds as much, with no less between: G1 begins that only once it has removed what it could.
   *
   * Owner: one thread looks, some times a second; any thread asks.
   * Bounds: what is accepted between a collection, the next look and those who ask is not held back; the part of the heap above the maximum is for that. The heap is full in its lower half and
   *   crowded in its upper one.
   * Failure: a collector that does not say what it has found, or has not collected yet, never makes it full. One that
   *   has looked long ago may be wrong by what was released since. So it is asked to collect when the heap has been full for ASK_NANOS without a further collection, if that does not stop the application.
   */
  private static final Logger LOG = LoggerFactory.getLogger(HeapGuard.class);

  /** A guard for a heap that has room in any case. */
  public static final HeapGuard OFF = new HeapGuard(() -> 0, 100);

  /** What is full has room again when there is this part of its maximum, so that it does not change with each collection. */
  private static final double AGAIN = 0.96;

  /** G1's marking, which stops the JVM twice: to remark, and to clean up. */
  private static final String MARKING = "G1 Concurrent GC";

  private static final int PAUSES_TO_SURE = 3;
  private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** What a collector says. */
  @FunctionalInterface
  public interface Live {
    /** The part of the old generation's maximum that its last collection has left, from 0 to 1; 0 when that is not known. */
    double share();

    /** Begins a collection, if the application goes on beside it. */
    default void collect() {}

    /** How many pauses for marking there were, after which garbage was not removed yet. */
    default long markings() {
      return 0;
    }
  }

  private final Live live;
  private final double most;
  private final LongSupplier nanoTime;
  private volatile boolean full;
  private volatile boolean crowded;

  // Used by the thread that looks.
  private boolean suspected;
  private boolean sure;
  private double before;
  private long markingsBefore;
  private long markingsAtFirst;
  private long sinceNanos;

  /** @param percent the part of the heap that may be live, from 1; 100 for a guard that is never full */
  public HeapGuard(Live live, int percent) {
    this(live, percent, System::nanoTime);
  }

  HeapGuard(Live live, int percent, LongSupplier nanoTime) {
    if (percent < 1 || percent > 100) throw new IllegalArgumentException("percent " + percent);
    this.live = live;
    this.nanoTime = nanoTime;
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
    GarbageCollectorMXBean marking =
        ManagementFactory.getGarbageCollectorMXBeans().stream().filter(each -> each.getName().equals(MARKING)).findFirst().orElse(null);
    return new HeapGuard(old == null ? () -> 0 : new OldGeneration(old, marking), percent);
  }

  private record OldGeneration(MemoryPoolMXBean pool, @Nullable GarbageCollectorMXBean marking) implements Live {
    @Override
    public double share() {
      MemoryUsage usage = pool.getCollectionUsage();
      return usage.getMax() <= 0 ? 0 : (double) usage.getUsed() / usage.getMax();
    }

    @Override
    @SuppressWarnings("SystemGc") // garbage counts as live until it is collected
    public void collect() {
      if (marking != null && collectsBeside()) System.gc();
    }

    private static boolean collectsBeside() {
      return Boolean.parseBoolean(ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption("ExplicitGCInvokesConcurrent").getValue());
    }

    @Override
    public long markings() {
      return marking == null ? 0 : marking.getCollectionCount();
    }
  }

  /** Looks at what is live now. One thread. */
  public void look() {
    if (most == 1) return;
    double now = live.share();
    long markings = live.markings();
    boolean was = full;
    boolean high = now >= (was ? AGAIN * most : most);
    if (!high) {
      suspected = false;
      sure = false;
    } else if (!suspected) {
      suspected = true;
      sure = markings == markingsBefore;
      markingsAtFirst = markings;
    } else if (markings - markingsAtFirst >= PAUSES_TO_SURE || (markings == markingsBefore && now != before)) {
      sure = true;
    }
    if (now != before || markings != markingsBefore) sinceNanos = nanoTime.getAsLong();
    before = now;
    markingsBefore = markings;
    full = high && (was || sure);
    double crowd = (1 + most) / 2;
    crowded = full && now >= (crowded ? AGAIN * crowd : crowd);
    if (full && nanoTime.getAsLong() - sinceNanos >= ASK_NANOS) {
      sinceNanos = nanoTime.getAsLong();
      live.collect();
    }
    if (full == was) return;
    if (full) LOG.warn("The heap is full: {} % of it is live. New sessions, subscriptions and retained topics are refused (dunlin.memory.live-max)", Math.round(100 * now));
    else LOG.info("The heap has room again: {} % of it is live", Math.round(100 * now));
  }

  /** Whether nothing more may be kept: no session, subscription or retained topic that was not there. Any thread. */
  public boolean isFull() {
    return full;
  }

  /** Whether there is hardly room for what those need that are there. Any thread. */
  public boolean isCrowded() {
    return crowded;
  }

  /** The part of the heap that is live, from 0 to 1; 0 when that is not known. Any thread. */
  public double live() {
    return live.share();
  }
}
