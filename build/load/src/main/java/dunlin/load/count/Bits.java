package dunlin.load.count;

import java.util.Arrays;

/** A set of sequence numbers, with one bit for each. */
public final class Bits {
  /*
   * Owner: guarded by its user; no lock.
   * Bounds: WORDS_MAX from the first number to the last; its user counts the bytes.
   */
  static final int WORDS_MAX = 1 << 26;
  private static final long HEADER_BYTES = 64;

  private long firstWord;
  private long[] words = {};

  public Bits() {}

  /** Bits received from another process; the first bit stands for 64 * firstWord. */
  public Bits(long firstWord, long[] words) {
    this.firstWord = firstWord;
    this.words = words.clone();
  }

  /** The number of additional bytes needed to add a number; more than available for a number too far away. */
  long bytesFor(long number) {
    long word = number >>> 6;
    if (words.length == 0) return HEADER_BYTES + Long.BYTES;
    if (word >= firstWord && word < firstWord + words.length) return 0;
    long length = grown(word);
    return length > WORDS_MAX ? Long.MAX_VALUE : (length - words.length) * Long.BYTES;
  }

  private long grown(long word) {
    if (words.length == 0) return 1;
    if (word < firstWord) return firstWord + words.length - word;
    return Math.max(word + 1 - firstWord, Math.min(2L * words.length, WORDS_MAX));
  }

  /** Adds a number; false when it was already present. */
  boolean set(long number) {
    long word = number >>> 6;
    if (words.length == 0) firstWord = word;
    if (words.length == 0 || word < firstWord || word >= firstWord + words.length) grow(word);
    int at = (int) (word - firstWord);
    long bit = 1L << number;
    if ((words[at] & bit) != 0) return false;
    words[at] |= bit;
    return true;
  }

  private void grow(long word) {
    int length = (int) grown(word);
    if (word >= firstWord) {
      words = Arrays.copyOf(words, length);
      return;
    }
    var longer = new long[length];
    System.arraycopy(words, 0, longer, (int) (firstWord - word), words.length);
    words = longer;
    firstWord = word;
  }

  public boolean has(long number) {
    long at = (number >>> 6) - firstWord;
    return at >= 0 && at < words.length && (words[(int) at] & 1L << number) != 0;
  }

  /** The number of elements from a number on. */
  public long countFrom(long number) {
    long count = 0;
    for (int i = 0; i < words.length; i++) {
      long low = (firstWord + i) << 6;
      if (low >= number) count += Long.bitCount(words[i]);
      else if (low + 64 > number) count += Long.bitCount(words[i] & -1L << number);
    }
    return count;
  }

  /** The lowest number, or Long.MAX_VALUE when there is none. */
  public long lowest() {
    for (int i = 0; i < words.length; i++) {
      if (words[i] != 0) return ((firstWord + i) << 6) + Long.numberOfTrailingZeros(words[i]);
    }
    return Long.MAX_VALUE;
  }

  /** Adds all numbers of another set; returns how many were already present. The caller has bounded both. */
  public long join(Bits others) {
    if (others.words.length == 0) return 0;
    if (words.length == 0) {
      firstWord = others.firstWord;
      words = others.words.clone();
      return 0;
    }
    long from = Math.min(firstWord, others.firstWord);
    long to = Math.max(firstWord + words.length, others.firstWord + others.words.length);
    if (from != firstWord || to != firstWord + words.length) {
      if (to - from > WORDS_MAX) throw new IllegalArgumentException("the messages of a stream are too far apart");
      var wider = new long[(int) (to - from)];
      System.arraycopy(words, 0, wider, (int) (firstWord - from), words.length);
      words = wider;
      firstWord = from;
    }
    long both = 0;
    for (int i = 0; i < others.words.length; i++) {
      int at = (int) (others.firstWord - firstWord) + i;
      both += Long.bitCount(words[at] & others.words[i]);
      words[at] |= others.words[i];
    }
    return both;
  }

  public long firstWord() {
    return firstWord;
  }

  /** The words up to the last one that is not 0. */
  public long[] words() {
    int length = words.length;
    while (length > 0 && words[length - 1] == 0) length--;
    return Arrays.copyOf(words, length);
  }
}
