package dunlin.inbox.range;

import java.util.Arrays;

/**
 * Messages that left a full inbox as its oldest although its connection was handed them, and may be sending them: whether they are
 * lost shows when the client acknowledges them, or its connection ends.
 */
final class Overtaken {
  /*
   * Owner: the applying thread. It decides what is counted and nothing else, so replicas may differ in it.
   * Bounds: MAX, about what a connection has taken ahead of its client; beyond, the oldest is taken for lost.
   */
  private static final int MAX = 1_024;

  /** In ascending order from {@code first} to {@code end}, exclusive. */
  private long[] sequences = new long[8];

  private int first;
  private int end;

  int size() {
    return end - first;
  }

  /** Adds a sequence that is higher than all others. Answers whether another one had to go for it. */
  boolean add(long sequence) {
    assert size() == 0 || sequences[end - 1] < sequence : "dropped out of order";
    boolean full = size() == MAX;
    if (full) first++;
    if (end == sequences.length) {
      long[] into = size() > sequences.length / 2 ? new long[sequences.length * 2] : sequences;
      System.arraycopy(sequences, first, into, 0, size());
      sequences = into;
      end = size();
      first = 0;
    }
    sequences[end++] = sequence;
    return full;
  }

  /** Answers whether it was there. */
  boolean remove(long sequence) {
    int at = Arrays.binarySearch(sequences, first, end, sequence);
    if (at < 0) return false;
    System.arraycopy(sequences, at + 1, sequences, at, end - at - 1);
    end--;
    return true;
  }
}
