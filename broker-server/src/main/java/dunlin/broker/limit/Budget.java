package dunlin.broker.limit;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** How many bytes the node may hold of one thing that clients make grow, and how many it holds. */
public final class Budget {
  /*
   * Owner: any thread; each Share belongs to the thread that it was made for.
   * A share takes from the budget by the chunk and keeps what it does not use, two chunks at most. So event loops meet at the common number
   *   once in a chunk, not once in a message; in between a byte costs an addition.
   * Bounds: who holds something may hold no more than is left for everybody else (Share.allows). So one spender gets half of a budget, ten get
   *   an eleventh each: the largest are stopped first, without being looked for. Many together can still take all of it. So a few bytes are
   *   allowed to each however little is left, or clients with small messages would wait for those that hold everything.
   *   Shares ask and take without waiting for each other, so a budget can be passed by what is taken at one time, once for each loop, and
   *   by these few bytes for each spender.
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

  /** What the shares have taken, used or not. */
  private final AtomicLong taken = new AtomicLong();

  private final LongAdder refused = new LongAdder();

  /** @param name the name as the setting of its limit spells it, in {@code dunlin.memory.<name>-max} */
  Budget(String name, long limit) {
    if (limit < 1) throw new IllegalArgumentException(name + ": limit " + limit);
    this.name = name;
    this.limit = limit;
    this.small = Math.min(limit / SMALLS, SMALL_MAX);
    this.chunk = Math.clamp(limit / CHUNKS, CHUNK_MIN, CHUNK_MAX);
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

  /** How often a request for more was refused. */
  public long refused() {
    return refused.sum();
  }

  public Share share() {
    return new Share();
  }

  /** What one thread holds of it. */
  public final class Share {
    private long used;
    private long reserve;

    private Share() {}

    /** Bytes that are left. */
    public long free() {
      return limit - taken.getOpaque() + reserve;
    }

    /** Whether a holder of so much may hold so much more. */
    public boolean allows(long held, long more) {
      return held + more <= Math.max(small, free());
    }

    /** Something was not done because there was too little left. */
    public void refused() {
      refused.increment();
    }

    /** Notes that so much more is held, or less; it is not asked whether that is allowed. */
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
