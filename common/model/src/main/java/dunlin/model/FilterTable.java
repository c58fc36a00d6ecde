package dunlin.model;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** One generation of an index's nodes: an open-addressed table from the hash of a node's path to the node. */
final class FilterTable<V> {
  /*
   * A place is 20 bytes: the path's hash, one word about the node, and the value of the filter at the node.
   * The word: offset of a text (36 bits) | number of children by plain levels (24) | TAIL | PLUS | HASH | FILTER.
   *
   * Owner: the index's writer writes, any thread reads. A place never changes its hash: the place of a removed node
   * stays, with the word 0, for a node of the same path or until the next generation. A value is set before the word
   * that announces it and cleared after it, so a reader that finds the word's text unchanged after reading the value
   * has a matching pair. Places are in the order of the hashes, so copying to the next generation visits both in order.
   * Bounds: at most two thirds of the places are used; the index makes the next generation before that.
   */
  private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle VALUES = MethodHandles.arrayElementVarHandle(Object[].class);

  /** The node has a filter's value: that of the filter that ends here, or with TAIL that of a longer one. */
  static final long FILTER = 1;

  /** There is a child for {@code #}. */
  static final long HASH = 2;

  /** There is a child for {@code +}. */
  static final long PLUS = 4;

  /** Only one filter has this node's path as its prefix, and it is stored here as a whole. Such a node has no children. */
  static final long TAIL = 8;

  private static final int CHILDREN_SHIFT = 4;
  private static final long CHILD = 1L << CHILDREN_SHIFT;
  private static final long CHILDREN = 0xFF_FFFFL << CHILDREN_SHIFT;
  private static final int TEXT_SHIFT = 28;
  private static final long TEXT = -1L << TEXT_SHIFT | FILTER | TAIL;
  private static final int CAPACITY_MIN = 64;

  private final int capacity;
  private final long[] slots;
  private final @Nullable Object[] values;
  private int used;
  private int live;

  final PathHash hash;
  final FilterTexts texts;

  /** An empty table with room for half as many nodes again as expected. */
  FilterTable(PathHash hash, FilterTexts texts, int expected) {
    long wanted = Math.max(CAPACITY_MIN, expected * 9L / 4 + 1);
    if (wanted > 1 << 30) throw new IllegalStateException("an index of " + expected + " nodes");
    this.hash = hash;
    this.texts = texts;
    capacity = (int) wanted;
    slots = new long[2 * capacity];
    values = new @Nullable Object[capacity];
  }

  /** The next generation: the same nodes, room for more, and the same texts or a copy of the live ones. */
  FilterTable<V> next(FilterTexts nextTexts, int more) {
    var next = new FilterTable<V>(hash, nextTexts, live + more);
    for (int i = 0; i < capacity; i++) {
      long word = slots[2 * i + 1];
      if (word == 0) continue;
      if (nextTexts != texts) word = withText(word, copyText(slots[2 * i], word, nextTexts));
      next.insert(slots[2 * i], word, values[i]);
    }
    return next;
  }

  /** An empty table with other keys, for the same filters and room for more nodes. */
  FilterTable<V> withKeys(PathHash otherHash, int more) {
    return new FilterTable<>(otherHash, new FilterTexts(), live + more);
  }

  /** Copies a node's text, or only its path if the node holds no filter: the text's filter may have been removed. */
  private long copyText(long path, long word, FilterTexts target) {
    long offset = text(word);
    long tenant = texts.tenant(offset);
    byte[] text = texts.text(offset);
    int length = text.length;
    if ((word & FILTER) == 0) {
      length = -1;
      for (long at = hash.root(tenant); at != path; ) {
        int end = PathHash.levelEnd(text, length + 1, text.length);
        at = hash.filterLevel(at, text, length + 1, end);
        length = end;
      }
    }
    return target.append(tenant, text, Math.max(0, length));
  }

  /** Whether this many more nodes fit. */
  boolean hasRoomFor(int nodes) {
    return (used + nodes) * 3L <= capacity * 2L;
  }

  boolean isSparse() {
    return capacity > 8 * CAPACITY_MIN && live * 8L < capacity;
  }

  /** The place of the node with this path, which may be a removed one, or -1. Any thread. */
  int find(long path) {
    int i = index(path);
    while (true) {
      long at = (long) LONGS.getAcquire(slots, 2 * i);
      if (at == path) return i;
      if (at == 0) return -1;
      if (++i == capacity) i = 0;
    }
  }

  /** The word about the node at a place; 0 for a removed one. Any thread. */
  long word(int place) {
    return (long) LONGS.getAcquire(slots, 2 * place + 1);
  }

  /** The value at a place. Any thread, but {@link #sameText} must confirm which filter it belongs to. */
  @SuppressWarnings("unchecked") // only put() and insert() write to it
  @Nullable V value(int place) {
    return (V) VALUES.getAcquire(values, place);
  }

  /** The word of the node with this path, 0 when there is none. Any thread. */
  long wordOf(long path) {
    int place = find(path);
    return place < 0 ? 0 : word(place);
  }

  static boolean sameText(long word, long other) {
    return ((word ^ other) & TEXT) == 0;
  }

  static long text(long word) {
    return word >>> TEXT_SHIFT;
  }

  static boolean hasFilter(long word) {
    return (word & FILTER) != 0;
  }

  static boolean isTail(long word) {
    return (word & TAIL) != 0;
  }

  static boolean hasChildren(long word) {
    return (word & (CHILDREN | PLUS | HASH)) != 0;
  }

  static boolean hasPlainChildren(long word) {
    return (word & CHILDREN) != 0;
  }

  /** Creates or revives a node that holds a filter. */
  void add(long path, long text, boolean tail, V value) {
    long word = text << TEXT_SHIFT | FILTER | (tail ? TAIL : 0);
    int place = find(path);
    if (place < 0) {
      insert(path, word, value);
    } else {
      assert word(place) == 0 : "a node on top of another";
      VALUES.setRelease(values, place, value);
      LONGS.setRelease(slots, 2 * place + 1, word);
      live++;
    }
  }

  private void insert(long path, long word, @Nullable Object value) {
    int i = index(path);
    while (slots[2 * i] != 0) if (++i == capacity) i = 0;
    VALUES.setRelease(values, i, value);
    LONGS.setRelease(slots, 2 * i + 1, word);
    LONGS.setRelease(slots, 2 * i, path);
    used++;
    live++;
  }

  /** Sets the value of the filter that ends at a live node. */
  void setFilter(int place, long text, V value) {
    VALUES.setRelease(values, place, value);
    LONGS.setRelease(slots, 2 * place + 1, withText(slots[2 * place + 1], text) | FILTER);
  }

  void replaceValue(int place, V value) {
    VALUES.setRelease(values, place, value);
  }

  /** Removes the filter from a node; returns whether the node is removed with it. */
  boolean clearFilter(int place) {
    long word = slots[2 * place + 1] & ~(FILTER | TAIL);
    boolean gone = !hasChildren(word);
    LONGS.setRelease(slots, 2 * place + 1, gone ? 0 : word);
    VALUES.setRelease(values, place, null);
    if (gone) live--;
    return gone;
  }

  /** Notes a new child of a node. A node that held a filter's tail loses it to that child. */
  void link(int place, long edge) {
    long word = slots[2 * place + 1];
    boolean tail = isTail(word);
    if (tail) word &= ~(FILTER | TAIL);
    if (edge != CHILD) {
      assert (word & edge) == 0 : "a second child by the same wildcard";
      word |= edge;
    } else if ((word & CHILDREN) != CHILDREN) {
      word += CHILD;
    }
    LONGS.setRelease(slots, 2 * place + 1, word);
    if (tail) VALUES.setRelease(values, place, null);
  }

  /** Notes the removal of a child; returns whether the node is removed with it. */
  boolean unlink(int place, long edge) {
    long word = slots[2 * place + 1];
    if (edge != CHILD) {
      word &= ~edge;
    } else if ((word & CHILDREN) != CHILDREN) { // a saturated count is unknown, so the node stays
      word -= CHILD;
    }
    boolean gone = !hasFilter(word) && !hasChildren(word);
    LONGS.setRelease(slots, 2 * place + 1, gone ? 0 : word);
    if (gone) live--;
    return gone;
  }

  /** The edge for {@link #link} to a child with this level. */
  static long edge(byte[] text, int from, int to) {
    if (PathHash.isLevel(text, from, to, '+')) return PLUS;
    if (PathHash.isLevel(text, from, to, '#')) return HASH;
    return CHILD;
  }

  /** Visits the filters of the index. */
  interface Visitor<V> {
    void filter(long tenant, byte[] text, V value);
  }

  /** Visits all filters; called by the writer. */
  void forEach(Visitor<V> visitor) {
    for (int i = 0; i < capacity; i++) {
      V value = value(i);
      long word = slots[2 * i + 1];
      if (hasFilter(word) && value != null) visitor.filter(texts.tenant(text(word)), texts.text(text(word)), value);
    }
  }

  private int index(long path) {
    return (int) Math.unsignedMultiplyHigh(path, capacity);
  }

  private static long withText(long word, long text) {
    return (word & ((1L << TEXT_SHIFT) - 1)) | text << TEXT_SHIFT;
  }
}
