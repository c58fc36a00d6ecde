package dunlin.runtime.memory;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says when so much of the heap is live that nothing more may be kept there. Each kind of memory that clients use has a budget of its own, and all of them
 * together may be more than the heap, since they are seldom used up at once. This keeps them from being that.
 */
public final class HeapGuard {
  /*
   * Live is what the old generation had after it was last collected: the JVM's collection usage. Garbage counts until a collection has found it, so the guard errs to the safe side, and for
   * as long as there is no collection.
   *
   * Owner: one thread looks, once a second; any thread asks.
   * Bounds: what is accepted between a collection, the next look and those who ask is not held back; there is a part of the heap for that. CROWDED is half of it.
   * Failure: a collector that does not say what it has found, or has not collected yet, never makes it full.
   */
  private static final Logger LOG = LoggerFactory.getLogger(HeapGuard.class);

  /** A guard for a heap that has room in any case. */
  public static final HeapGuard OFF = new HeapGuard(Live.NOTHING, 100);

  /** It is full until this part of the heap less is live, so that it does not change with each collection. */
  private static final double AGAIN = 0.03;

  /** What a collector says. */
  @FunctionalInterface
  public interface Live {
    Live NOTHING = () -> 0;

    /** The part of the old generation's maximum that its last collection has left, from 0 to 1; 0 when that is not known. */
    double share();
  }

  private final Live live;
  private final double most;
  private volatile boolean full;
  private volatile boolean crowded;

  /** @param percent the part of the heap that may be live, from 1; 100 for a guard that is never full */
  public HeapGuard(Live live, int percent) {
    if (percent < 1 || percent > 100) throw new IllegalArgumentException("percent " + percent);
    this.live = live;
    most = percent / 100.0;
  }

  /** Guards the heap of this process. */
  public static HeapGuard ofThisProcess(int percent) {
    return new HeapGuard(liveOf(ManagementFactory.getMemoryPoolMXBeans()), percent);
  }

  /** Objects grow old in the pool that can have a threshold of use: the others are emptied by each collection. */
  private static Live liveOf(List<MemoryPoolMXBean> pools) {
    return pools.stream()
        .filter(pool -> pool.getType() == MemoryType.HEAP && pool.isUsageThresholdSupported() && pool.isCollectionUsageThresholdSupported())
        .findFirst()
        .<Live>map(pool -> () -> share(pool.getCollectionUsage()))
        .orElse(Live.NOTHING);
  }

  private static double share(MemoryUsage usage) {
    return usage.getMax() <= 0 ? 0 : (double) usage.getUsed() / usage.getMax();
  }

  /** Looks at what is live now. One thread. */
  public void look() {
    if (most == 1) return;
    double now = live.share();
    boolean was = full;
    full = now >= (was ? most - AGAIN : most);
    double crowd = (1 + most) / 2;
    crowded = now >= (crowded ? crowd - AGAIN : crowd);
    if (full == was) return;
    if (full) LOG.warn("The heap is full: {} % of it is live. New sessions, subscriptions and retained topics are refused (dunlin.memory.live-max)", Math.round(100 * now));
    else LOG.info("The heap has room again: {} % of it is live", Math.round(100 * now));
  }

  /** Whether nothing more may be kept: no session, subscription or retained topic that was not there. Any thread. */
  public boolean isFull() {
    return full;
  }

  /** Whether there is no room even for what comes and goes, such as another connection. Any thread. */
  public boolean isCrowded() {
    return crowded;
  }

  /** The part of the heap that is live, from 0 to 1; 0 when that is not known. Any thread. */
  public double live() {
    return live.share();
  }
}
