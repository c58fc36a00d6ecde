package dunlin.load.count;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The messages that one receiver has of each stream. */
public final class Book {
  /*
   * Owner: the receiver's event loop, or the lock of the shared group's stripe.
   * Bounds: the process' Budget of pairs, and Gaps.RANGES_MAX for a pair. Full: a new stream's messages are UNCHECKED.
   */
  private final Budget budget;

  private KeyIndex index = new KeyIndex();
  private long[] first = new long[2];
  private long[] next = new long[2];
  private final Map<Integer, Gaps> gaps = new HashMap<>();

  public Book(Budget budget) {
    this.budget = budget;
  }

  public Arrival receive(long key, long sequence) {
    int at = index.find(key);
    if (at < 0) return begin(key, sequence);
    if (sequence >= next[at]) {
      if (sequence > next[at]) gaps.computeIfAbsent(at, _ -> new Gaps()).add(next[at], sequence);
      next[at] = sequence + 1;
      return Arrival.IN_ORDER;
    }
    if (sequence < first[at]) {
      if (sequence + 1 < first[at]) gaps.computeIfAbsent(at, _ -> new Gaps()).addFirst(sequence + 1, first[at]);
      first[at] = sequence;
      return Arrival.OUT_OF_ORDER;
    }
    Gaps missing = gaps.get(at);
    return missing != null && missing.fill(sequence) ? Arrival.OUT_OF_ORDER : Arrival.DUPLICATE;
  }

  private Arrival begin(long key, long sequence) {
    if (!budget.take()) return Arrival.UNCHECKED;
    int at = index.add(key);
    if (at == first.length) {
      first = Arrays.copyOf(first, 2 * at);
      next = Arrays.copyOf(next, 2 * at);
    }
    first[at] = sequence;
    next[at] = sequence + 1;
    return Arrival.IN_ORDER;
  }

  /** The number of streams. */
  public int streams() {
    return index.size();
  }

  public long key(int stream) {
    return index.key(stream);
  }

  /** The index of a stream, or -1 when none of its messages arrived. */
  public int find(long key) {
    return index.find(key);
  }

  /** The number of missing messages between the first and the last that arrived. */
  public long missingBetween(int stream) {
    Gaps missing = gaps.get(stream);
    return missing == null ? 0 : missing.total();
  }

  /** The lowest sequence number that arrived. */
  public long first(int stream) {
    return first[stream];
  }

  /** The number after the highest that arrived. */
  public long next(int stream) {
    return next[stream];
  }

  /** Whether a message has not arrived. */
  public boolean isMissing(int stream, long sequence) {
    if (sequence < first[stream] || sequence >= next[stream]) return true;
    Gaps missing = gaps.get(stream);
    return missing != null && missing.contains(sequence);
  }

  /** Forgets everything, at the end of a session. */
  public void clear() {
    budget.give(index.size());
    index = new KeyIndex();
    first = new long[2];
    next = new long[2];
    gaps.clear();
  }
}
