package dunlin.load.count;

import java.util.Arrays;

/** The highest number of each stream that a member of a shared group has got: enough to see what comes out of order. */
public final class LastSeen {
  /*
   * Owner: the member's event loop.
   * Bounds: the process' Budget of pairs. Full: the order of a new stream is not looked at.
   */
  private final Budget budget;

  private final KeyIndex index = new KeyIndex();
  private long[] last = new long[2];

  public LastSeen(Budget budget) {
    this.budget = budget;
  }

  /** Whether no later message of the stream came before. */
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
