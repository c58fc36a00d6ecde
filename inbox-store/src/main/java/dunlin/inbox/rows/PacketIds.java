package dunlin.inbox.rows;

import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** A set of packet identifiers. */
public final class PacketIds {
  /*
   * Owner: the applying thread.
   * Bounds: two bytes for each identifier while there are few; otherwise 8 KiB, a bit for each possible identifier. So
   * a single high identifier does not take the space of all.
   */
  private static final int FEW = 1_024;

  /** More than an identifier takes in the array, which grows by doubling; that many times FEW are 8 KiB. */
  private static final int IDENTIFIER_BYTES = 8;

  /** In ascending order, from index 0 to count; unused once {@code many} is set. */
  private char[] few = new char[4];

  private int count;
  private @Nullable BitSet many;

  public int size() {
    return count;
  }

  public boolean isEmpty() {
    return count == 0;
  }

  /** Estimates the heap that they take; it depends on their number alone. */
  public int memory() {
    return IDENTIFIER_BYTES * Math.min(count, FEW);
  }

  public boolean contains(int id) {
    return many != null ? many.get(id) : place(id) >= 0;
  }

  private int place(int id) {
    return Arrays.binarySearch(few, 0, count, (char) id);
  }

  public void add(int id) {
    if (contains(id)) return;
    if (many == null && count == FEW) becomeMany();
    if (many != null) {
      many.set(id);
    } else {
      int at = -1 - place(id);
      if (count == few.length) few = Arrays.copyOf(few, count * 2);
      System.arraycopy(few, at, few, at + 1, count - at);
      few[at] = (char) id;
    }
    count++;
  }

  private void becomeMany() {
    var bits = new BitSet();
    for (char id : few) bits.set(id);
    many = bits;
    few = new char[0];
  }

  public void remove(int id) {
    if (!contains(id)) return;
    if (many != null) {
      many.clear(id);
    } else {
      int at = place(id);
      System.arraycopy(few, at + 1, few, at, count - at - 1);
    }
    count--;
  }

  /** All identifiers in ascending order. */
  public int[] toArray() {
    if (many != null) return many.stream().toArray();
    int[] all = new int[count];
    for (int i = 0; i < count; i++) all[i] = few[i];
    return all;
  }
}
