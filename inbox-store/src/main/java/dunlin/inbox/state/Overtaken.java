package dunlin.inbox.state;

import java.util.Arrays;

/**
 * Messages that were dropped as the oldest of a full inbox after they were handed to the connection, which may be
 * sending them. If the client acknowledges them they are delivered; if its connection ends first, they are lost.
 */
public final class Overtaken {
  /*
   * Owner: the applying thread. It only affects what is counted, so replicas may differ in it.
   * Bounds: MAX, about as many as a connection takes ahead of its client; beyond that, the oldest counts as lost.
   */
  private static final int MAX = 1_024;

  /** In ascending order, from index {@code first} to {@code end}, exclusive. */
  private long[] sequences = new long[8];

  private int first;
  private int end;

  public int size() {
    return end - first;
  }

  /** Adds a sequence that is higher than all others. Answers whether the oldest one was removed for it. */
  public boolean add(long sequence) {
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

  /** Removes a sequence. Answers whether it was present. */
  public boolean remove(long sequence) {
    int at = Arrays.binarySearch(sequences, first, end, sequence);
    if (at < 0) return false;
    System.arraycopy(sequences, at + 1, sequences, at, end - at - 1);
    end--;
    return true;
  }
}
