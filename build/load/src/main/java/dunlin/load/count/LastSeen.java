package dunlin.load.count;

import java.util.Arrays;

/** The highest number of each stream that a member of a shared group has received; enough to detect messages out of order. */
public final class LastSeen {
  /*
   * Owner: the member's event loop.
   * Bounds: the process' Budget of pairs. Full: the order of a new stream is not checked.
   */
  private final Budget budget;

  private final KeyIndex index = new KeyIndex();
  private long[] last = new long[2];

  public LastSeen(Budget budget) {
    this.budget = budget;
  }

  /** Whether no higher number of the stream arrived before. */
  public boolean inOrder(long key, long sequence) {
    int at = index.find(key);
    if (at < 0) {
      if (!budget.take()) return true;
      at = index.add(key);
      if (at == last.length) last = Arrays.copyOf(last, 2 * at);
      last[at] = sequence;
      return true;
    }
    if (sequence < last[at]) return false;
    last[at] = sequence;
    return true;
  }
}
