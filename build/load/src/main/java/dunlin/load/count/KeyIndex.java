package dunlin.load.count;

import java.util.Arrays;

/** Numbers keys from 0 in order of arrival: a hash table that allocates nothing per key. */
final class KeyIndex {
  private long[] keys = new long[2];
  private int[] table = new int[4]; // number + 1, or 0; at most half full
  private int size;

  /** The number of a key, or -1. */
  int find(long key) {
    int mask = table.length - 1;
    for (int at = hash(key) & mask; table[at] != 0; at = (at + 1) & mask) {
      if (keys[table[at] - 1] == key) return table[at] - 1;
    }
    return -1;
  }

  /** Adds a new key and returns its number. */
  int add(long key) {
    if (size == keys.length) {
      keys = Arrays.copyOf(keys, 2 * size);
      table = new int[2 * table.length];
      for (int number = 0; number < size; number++) enter(number);
    }
    keys[size] = key;
    enter(size);
    return size++;
  }

  private void enter(int number) {
    int mask = table.length - 1;
    int at = hash(keys[number]) & mask;
    while (table[at] != 0) at = (at + 1) & mask;
    table[at] = number + 1;
  }

  private static int hash(long key) {
    long mixed = key * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32);
  }

  int size() {
    return size;
  }

  long key(int number) {
    return keys[number];
  }
}
