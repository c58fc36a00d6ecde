package dunlin.broker.limit;

import dunlin.runtime.memory.HeapGuard;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Bounds and counts the bytes of one kind of memory that clients make the node use. */
public final class Budget {
  /*
   * Owner: any thread; each Share belongs to the thread that it was made for.
   * A share takes chunks from the budget and keeps unused bytes, two chunks at most. So event loops access the common
   * counter once for each chunk, not for each message; between that, counting is a plain addition.
   * Bounds: a holder may hold no more than is left for all others (Share.allows). So a single holder gets half of a
   *   budget, ten get an eleventh each: the largest are stopped first, without a search. Many together can still take
   *   all of it, so each is allowed a few bytes however little is left; otherwise clients with small messages would
   *   wait for those that hold everything. Shares check and take without locking each other out, so a budget can be
   *   exceeded by what each loop takes at the same time, and by these few bytes for each holder.
   *   A budget on the heap may have a lower limit while that is full. What is held beyond it stays until it is released.
   */
  private static final int CHUNK_MIN = 256;
  private static final int CHUNK_MAX = 1 << 20;
  private static final int CHUNKS = 1_024;
  private static final int SMALL_MAX = 4 * 1_024;
  private static final int SMALLS = 16 * 1_024;

  private final String name;
  private final long limit;
  private final long chunk;
  private final long small;
  private final HeapGuard heap;
  private final LongUnaryOperator whenFull;

  private volatile @Nullable Lowered lowered;

  /** The limit since the heap has become full for the last of a number of times. */
  private record Lowered(long times, long limit) {}

  /** The bytes that shares have taken, used or not. */
  private final AtomicLong taken = new AtomicLong();

  private final LongAdder refused = new LongAdder();

  /**
   * @param name the name as the setting of its limit spells it, in {@code dunlin.memory.<name>-max}
   * @param heap where its bytes are; {@link HeapGuard#OFF} for those in direct memory
   * @param whenFull the limit while the heap is full, from what is held when it becomes that
   */
  Budget(String name, long limit, HeapGuard heap, LongUnaryOperator whenFull) {
    if (limit < 1) throw new IllegalArgumentException(name + ": limit " + limit);
    this.name = name;
    this.limit = limit;
    this.heap = heap;
    this.whenFull = whenFull;
    this.small = Math.min(limit / SMALLS, SMALL_MAX);
    this.chunk = Math.clamp(limit / CHUNKS, CHUNK_MIN, CHUNK_MAX);
  }

  /** A budget that does not depend on the heap. */
  Budget(String name, long limit) {
    this(name, limit, HeapGuard.OFF, _ -> limit);
  }

  String name() {
    return name;
  }

  long limit() {
    return limit;
  }

  /** Bytes that are held, rounded up to chunks. */
  public long used() {
    return taken.get();
  }

  /** The number of refused requests. */
  public long refused() {
    return refused.sum();
  }

  public Share share() {
    return new Share();
  }

  /** The limit now; loops that ask at once when the heap has become full may each find another one for a moment. */
  long present() {
    if (!heap.isFull()) return limit;
    Lowered last = lowered;
    long times = heap.timesFull();
    if (last == null || last.times != times) lowered = last = new Lowered(times, Math.min(limit, whenFull.applyAsLong(taken.get())));
    return last.limit;
  }

  /** The share of one thread. */
  public final class Share {
    private long used;
    private long reserve;

    private Share() {}

    /** Number of bytes that are left; less than none when more is held than the limit. */
    public long free() {
      return present() - taken.getOpaque() + reserve;
    }

    /** Whether a holder of a number of bytes may hold more. */
    public boolean allows(long held, long more) {
      return held + more <= Math.max(small, free());
    }

    /** Counts a request that was refused because too little was left. */
    public void refused() {
      refused.increment();
    }

    /** Counts bytes that are held in addition, or released if negative; does not check whether that is allowed. */
    public void add(long bytes) {
      used += bytes;
      reserve -= bytes;
      assert used >= 0 : name + ": more given back than taken";
      if (reserve < 0) take(-reserve);
      else if (reserve > 2 * chunk) take(chunk - reserve);
    }

    private void take(long more) {
      long rounded = Math.ceilDiv(more, chunk) * chunk;
      reserve += rounded;
      taken.addAndGet(rounded);
    }
  }
}
