package dunlin.retain.index;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The sorted keys of all topics with a retained message, each with its size class. Filters are looked up here; messages stay on disk. */
public final class TopicIndex {
  /*
   * A sorted map from lower bounds to immutable blocks of about a kilobyte of prefix-compressed keys (TopicBlock). A
   * skip list with a node per topic would be less code, at about 100 bytes a topic.
   *
   * Owner: the range's applying thread adds and removes; other threads walk without locks. A change puts one new block;
   * a split puts the upper block before it shortens the lower one. Blocks are never merged, so a key only ever moves to
   * a block with a higher bound, and a walk, which proceeds to higher bounds, cannot miss it. A walk may or may not see
   * concurrent changes.
   * Bounds: as many topics as RetainSettings.messagesMax allows. A topic costs the bytes in which it differs from the
   * previous one, plus 3 to 5, up to twice that when blocks are half full, plus its share of about 120 bytes a block.
   * One million topics of 36 bytes, added in random order, took 10 bytes each, since neighbours share most of their
   * names; random names of that length would take about 40. In the worst case, when all but one topic of each block
   * were removed, a topic takes 120 bytes plus twice its length.
   * Failure: RetainRange rebuilds it from the rows.
   */
  private static final int BLOCK_BYTES = 1024;
  private static final byte[] LOWEST = {};

  private final ConcurrentSkipListMap<byte[], byte[]> blocks = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  private final AtomicLong size = new AtomicLong();
  private final TopicBlock place = new TopicBlock();

  /** An empty index. */
  public TopicIndex() {
    blocks.put(LOWEST, new byte[0]);
  }

  /** The number of topics; any thread. */
  public long size() {
    return size.get();
  }

  /** Adds a key or changes its size class; returns its previous class, or {@link SizeClass#NONE}. */
  public int put(byte[] key, byte sizeClass) {
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
      // An append to the last position leaves the old block full: keys in ascending order, as when rows are read, fill
      // every block.
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

  /** Removes a key; returns its size class, or {@link SizeClass#NONE} when there was none. */
  public int remove(byte[] key) {
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

  /** The size class of a key, or {@link SizeClass#NONE}. Called by the owner only. */
  public int sizeClass(byte[] key) {
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
  public Walk walk() {
    return new Walk();
  }

  /** A forward iteration over the keys, each step as of about that moment; it holds one block and no lock. */
  public final class Walk {
    private final TopicBlock block = new TopicBlock();

    private Walk() {}

    /**
     * Moves to the first key at or after the target. Costs a few hundred nanoseconds, less within a block.
     *
     * @param target must ascend from call to call
     * @return false when there is no such key
     */
    public boolean seek(byte[] target, int length) {
      if (block.seek(target, length)) return true;
      Map.@Nullable Entry<byte[], byte[]> next = blocks.floorEntry(Arrays.copyOf(target, length));
      while (next != null) {
        block.load(next.getKey(), next.getValue());
        if (block.seek(target, length)) return true;
        next = blocks.higherEntry(next.getKey());
      }
      return false;
    }

    /** The buffer that begins with the key, of {@link #length} bytes; valid until the next seek. */
    public byte[] key() {
      return block.key();
    }

    /** How many bytes of it are the key. */
    public int length() {
      return block.length();
    }

    /** Whether the current key is this one. */
    public boolean isAt(byte[] key) {
      return block.isAt(key);
    }

    /** The size class of the current key. */
    public int sizeClass() {
      return Byte.toUnsignedInt(block.sizeClass());
    }

    /** A copy of the current key. */
    public byte[] copy() {
      return Arrays.copyOf(block.key(), block.length());
    }
  }
}
