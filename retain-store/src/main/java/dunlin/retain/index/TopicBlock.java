package dunlin.retain.index;

import java.util.Arrays;

/** Reads the ascending keys of one immutable block, in which each key is stored as its difference from the previous one. */
final class TopicBlock {
  /*
   * Owner: its creator; not shared. The keys of a block are never modified, so any thread may have its own reader. Only
   * the index's owner reads and writes size classes.
   * Bounds: a buffer for the longest key read.
   *
   * Layout of a block: entries of (number of bytes shared with the previous key, number of bytes that follow, those
   * bytes, size class of the message in one byte), the two numbers as variable byte integers. The first entry refers to
   * the block's lower bound, which is its key in the index.
   */
  private byte[] block = {};
  private byte[] key = new byte[64];
  private int length;
  private int start;
  private int end;
  private int sharedBefore;
  private int sharedHere;
  private boolean positioned;

  /** Loads a block; positioned before its first key. */
  void load(byte[] lowerBound, byte[] keys) {
    block = keys;
    room(lowerBound.length);
    System.arraycopy(lowerBound, 0, key, 0, lowerBound.length);
    length = lowerBound.length;
    start = 0;
    end = 0;
    positioned = false;
  }

  /** Moves forward to the first key at or after the target, starting from the current one; false when there is none. */
  boolean seek(byte[] target, int targetLength) {
    if (!isBefore(key, 0, length, target, 0, targetLength)) {
      sharedBefore = sharedHere;
      if (positioned) return true;
      // The lower bound is not before the target, so no key is.
      if (!next()) return false;
      isBefore(key, 0, length, target, 0, targetLength);
      return true;
    }
    // An entry that shares more with the previous key than the target does is before the target; one that shares less
    // is after it. So most entries are skipped by their first number, and nothing is copied before the last.
    int shared = sharedHere;
    while (end < block.length) {
      start = end;
      int same = readNumber();
      int rest = readNumber();
      int from = end;
      end += rest + 1;
      if (same > shared) continue;
      if (same == shared && isBefore(block, from, from + rest, target, same, targetLength)) {
        shared = sharedHere;
        continue;
      }
      if (same < shared) sharedHere = same;
      sharedBefore = shared;
      length = same + rest;
      room(length);
      System.arraycopy(target, 0, key, 0, same);
      System.arraycopy(block, from, key, same, rest);
      positioned = true;
      return true;
    }
    start = end;
    sharedBefore = shared;
    return false;
  }

  /**
   * Whether a key is before the target; both are equal up to where the comparison begins. Sets {@code sharedHere} to
   * the length of their common prefix.
   */
  private boolean isBefore(byte[] bytes, int from, int to, byte[] target, int targetFrom, int targetLength) {
    int mismatch = Arrays.mismatch(bytes, from, to, target, targetFrom, targetLength);
    int equal = mismatch < 0 ? to - from : mismatch;
    sharedHere = targetFrom + equal;
    if (sharedHere == targetLength) return false;
    return equal == to - from || Byte.compareUnsigned(bytes[from + equal], target[sharedHere]) < 0;
  }

  /** Moves to the next key; false at the end. */
  boolean next() {
    start = end;
    if (end == block.length) return false;
    positioned = true;
    int shared = readNumber();
    int rest = readNumber();
    length = shared + rest;
    room(length);
    System.arraycopy(block, end, key, shared, rest);
    end += rest + 1;
    return true;
  }

  /** The buffer that begins with the current key; valid until the next move. */
  byte[] key() {
    return key;
  }

  int length() {
    return length;
  }

  /** Where the current entry begins in the block; the block's end when a seek found nothing. */
  int start() {
    return start;
  }

  /** Where the next entry begins. */
  int end() {
    return end;
  }

  /** After a seek in a block just loaded: the number of bytes that the previous key, or the lower bound, shares with the target. */
  int sharedBefore() {
    return sharedBefore;
  }

  /** After a seek that found a key: the number of bytes that this key shares with the target. */
  int sharedHere() {
    return sharedHere;
  }

  /** The size class of the current key's message. */
  byte sizeClass() {
    return block[end - 1];
  }

  void setSizeClass(byte sizeClass) {
    block[end - 1] = sizeClass;
  }

  boolean isAt(byte[] target) {
    return positioned && Arrays.equals(key, 0, length, target, 0, target.length);
  }

  private int readNumber() {
    int number = 0;
    int shift = 0;
    while (true) {
      byte b = block[end++];
      number |= (b & 0x7F) << shift;
      if (b >= 0) return number;
      shift += 7;
    }
  }

  private void room(int bytes) {
    if (key.length < bytes) key = Arrays.copyOf(key, Math.max(bytes, key.length * 2));
  }

  /** The length of an entry whose key shares bytes with the previous one. */
  static int entryLength(int shared, int length) {
    return numberLength(shared) + numberLength(length - shared) + length - shared + 1;
  }

  /** Writes the entry and returns where it ends. */
  static int writeEntry(byte[] out, int at, int shared, byte[] key, int length, byte sizeClass) {
    int rest = length - shared;
    int bytes = writeNumber(out, writeNumber(out, at, shared), rest);
    System.arraycopy(key, shared, out, bytes, rest);
    out[bytes + rest] = sizeClass;
    return bytes + rest + 1;
  }

  private static int numberLength(int number) {
    return number < 1 << 7 ? 1 : number < 1 << 14 ? 2 : number < 1 << 21 ? 3 : 4;
  }

  private static int writeNumber(byte[] out, int at, int number) {
    int left = number;
    int next = at;
    while (left >= 1 << 7) {
      out[next++] = (byte) (left | 0x80);
      left >>>= 7;
    }
    out[next++] = (byte) left;
    return next;
  }
}
