package dunlin.retain;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The sorted keys of all topics with a retained message, each with its size class: what a filter is looked up in, payloads staying on disk. */
final class TopicIndex {
  /*
   * A sorted map from lower bounds to immutable blocks of about a kilobyte of keys, prefixes written once (TopicBlock). A
   * skip list with a node per topic would be less code, at about 100 bytes a topic.
   *
   * Owner: add and remove by one thread, the range's applying one; any number of walks on other threads, without locks. A
   *   change puts one new block; a split puts the upper block before it cuts the lower one. Blocks are never merged, so a
   *   key only ever moves to a block of a higher bound, and a walk, which goes to higher bounds, cannot pass it by.
   *   What is added or removed during a walk is seen or not.
   * Bounds: as many topics as RetainSettings.messagesMax allows. A topic costs the bytes in which it differs from the one
   *   before, plus 3 to 5, up to twice that when blocks are half full, plus its share of about 120 bytes a block. One
   *   million topics of 36 bytes, added in random order, took 10 bytes each, since most of a name follows from its neighbour;
   *   random names of that length would take about 40. At worst, when all but one topic of each block were removed, a
   *   topic takes 120 bytes and its length twice.
   * Failure: nothing is kept here only; RetainRange builds it from the rows.
   */
  private static final int BLOCK_BYTES = 1024;
  private static final byte[] LOWEST = {};

  private final ConcurrentSkipListMap<byte[], byte[]> blocks = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  private final AtomicLong size = new AtomicLong();
  private final TopicBlock place = new TopicBlock();

  TopicIndex() {
    blocks.put(LOWEST, new byte[0]);
  }

  /** How many topics there are; any thread. */
  long size() {
    return size.get();
  }

  /** Adds a key, or gives it another size class; answers the class that it had, or {@link SizeClass#NONE}. */
  int put(byte[] key, byte sizeClass) {
    Map.Entry<byte[], byte[]> found = blockOf(key);
    byte[] bound = found.getKey();
    byte[] block = found.getValue();
    place.load(bound, block);
    boolean hasNext = place.seek(key, key.length);
    if (hasNext && place.isAt(key)) {
      byte had = place.sizeClass();
      place.setSizeClass(sizeClass);
      return Byte.toUnsignedInt(had);
    }

    int before = place.sharedBefore();
    int after = place.sharedHere();
    int own = TopicBlock.entryLength(before, key.length);
    int next = hasNext ? TopicBlock.entryLength(after, place.length()) : 0;
    byte[] grown = new byte[place.start() + own + next + block.length - place.end()];
    System.arraycopy(block, 0, grown, 0, place.start());
    int at = TopicBlock.writeEntry(grown, place.start(), before, key, key.length, sizeClass);
    if (hasNext) at = TopicBlock.writeEntry(grown, at, after, place.key(), place.length(), place.sizeClass());
    System.arraycopy(block, place.end(), grown, at, block.length - place.end());

    if (grown.length <= BLOCK_BYTES || (place.start() == 0 && !hasNext)) {
      blocks.put(bound, grown);
    } else {
      // At the end of a block the old one stays full: keys that come in order, as when the rows are read, fill every block.
      split(bound, grown, hasNext ? grown.length / 2 : place.start());
    }
    size.incrementAndGet();
    return SizeClass.NONE;
  }

  private void split(byte[] bound, byte[] block, int near) {
    place.load(bound, block);
    boolean first = place.next();
    assert first : "an empty block cannot be split";
    do {
      if (!place.next()) throw new IllegalStateException("a block of one key cannot be split");
    } while (place.start() < near && place.end() < block.length);
    byte[] middle = Arrays.copyOf(place.key(), place.length());
    int own = TopicBlock.entryLength(middle.length, middle.length);
    byte[] upper = new byte[own + block.length - place.end()];
    int at = TopicBlock.writeEntry(upper, 0, middle.length, middle, middle.length, place.sizeClass());
    System.arraycopy(block, place.end(), upper, at, block.length - place.end());
    blocks.put(middle, upper);
    blocks.put(bound, Arrays.copyOf(block, place.start()));
  }

  /** Removes a key; answers its size class, or {@link SizeClass#NONE} when it was not there. */
  int remove(byte[] key) {
    Map.Entry<byte[], byte[]> found = blockOf(key);
    byte[] bound = found.getKey();
    byte[] block = found.getValue();
    place.load(bound, block);
    if (!place.seek(key, key.length) || !place.isAt(key)) return SizeClass.NONE;

    int had = Byte.toUnsignedInt(place.sizeClass());
    int start = place.start();
    int before = place.sharedBefore();
    byte[] shrunk;
    if (!place.next()) {
      shrunk = Arrays.copyOf(block, start);
    } else {
      int shared = Math.min(before, mismatch(key));
      byte[] rest = new byte[start + TopicBlock.entryLength(shared, place.length()) + block.length - place.end()];
      System.arraycopy(block, 0, rest, 0, start);
      int at = TopicBlock.writeEntry(rest, start, shared, place.key(), place.length(), place.sizeClass());
      System.arraycopy(block, place.end(), rest, at, block.length - place.end());
      shrunk = rest;
    }
    if (shrunk.length == 0 && bound.length > 0) blocks.remove(bound);
    else blocks.put(bound, shrunk);
    size.decrementAndGet();
    return had;
  }

  private int mismatch(byte[] key) {
    int mismatch = Arrays.mismatch(place.key(), 0, place.length(), key, 0, key.length);
    assert mismatch >= 0 : "the same key twice";
    return mismatch;
  }

  /** The size class of a key, or {@link SizeClass#NONE}. By the owner only. */
  int sizeClass(byte[] key) {
    Map.Entry<byte[], byte[]> found = blockOf(key);
    place.load(found.getKey(), found.getValue());
    return place.seek(key, key.length) && place.isAt(key) ? Byte.toUnsignedInt(place.sizeClass()) : SizeClass.NONE;
  }

  private Map.Entry<byte[], byte[]> blockOf(byte[] key) {
    Map.Entry<byte[], byte[]> block = blocks.floorEntry(key);
    if (block == null) throw new IllegalStateException("the lowest block is missing");
    return block;
  }

  /** Starts a walk for the calling thread. */
  Walk walk() {
    return new Walk();
  }

  /** Goes forward through the keys, as of about each step; holds one block and nothing of the index. */
  final class Walk {
    private final TopicBlock block = new TopicBlock();

    /**
     * Goes to the first key that is not before the target. Costs a few hundred nanoseconds, less within a block.
     *
     * @param target after every target before it
     * @return false when there is no such key
     */
    boolean seek(byte[] target, int length) {
      if (block.seek(target, length)) return true;
      Map.@Nullable Entry<byte[], byte[]> next = blocks.floorEntry(Arrays.copyOf(target, length));
      while (next != null) {
        block.load(next.getKey(), next.getValue());
        if (block.seek(target, length)) return true;
        next = blocks.higherEntry(next.getKey());
      }
      return false;
    }

    /** The buffer with the key at its start, as long as {@link #length}; valid until the next seek. */
    byte[] key() {
      return block.key();
    }

    int length() {
      return block.length();
    }

    /** The present key in an array of its own. */
    byte[] copy() {
      return Arrays.copyOf(block.key(), block.length());
    }
  }
}
