package dunlin.model;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A map from topic filters of all tenants to values, which are looked up by matching topic names; MQTT 5, section 4.7.
 *
 * <p>One thread at a time changes it, any thread reads it without a lock. A match visits every filter that was present
 * throughout the match exactly once, whatever the writer does at the same time; a match on any thread that begins after
 * a change has returned sees the change. Filters are plain ones, without the prefix {@code $share/group/}.
 */
public final class FilterIndex<V> {
  /*
   * A trie of topic levels in one flat open-addressed table (FilterTable). A node is found by the hash of its whole
   * path, tenant first, not by its parent and a level: the places of all levels of a topic are known before the first
   * of them has been read, so the processor fetches them in parallel. Cache misses dominate the cost of a match.
   *
   * The only filter with some path as its prefix is stored at that path's node as a whole (a tail); it moves down a
   * level when a second one is added. So there is about one node for a filter, however many levels it has.
   *
   * Collisions: hashes have random keys, but equal hashes do not prove equal paths. A match compares the whole filter
   * with the whole topic before it visits a value. put() compares the text of every node on its path with that path, so
   * two paths never share a node; if they would, the table is rebuilt with other keys. Comparing levels at each node
   * instead would cost a cache miss for each level; here it is one for each filter found. One case is left to chance: a
   * path of the topic that no filter has, such as "a/b" beside a filter "a/+", may have the hash of that filter's node,
   * once in 2^56, and then the filter is visited twice in this match.
   *
   * Owner: the thread that calls put and remove. Readers take the current generation of the table, which is published
   * as a whole, and stay with it; within a generation, a node is linked to its parent after it was written.
   * Bounds: 20 B at a load between 0.44 and 0.67 for each node, the filter's text and 8 B; as much text again may be dead.
   * A match reads at most the existing nodes whose path matches the beginning of the topic: for a topic of n levels at
   * most 2^n paths, but each of them requires a subscribed filter (the dist tier bounds how many of them there are). It descends by "+" recursively, at most 254 levels
   * deep, the maximum of a filter; topics may have more levels, which match nothing.
   * Failure: none; nothing is kept on disk.
   */

  /** The most levels that a filter may have. */
  public static final int LEVELS_MAX = PathHash.DEPTH_MAX;

  private static final int DEAD_TEXT_MIN = 1 << 14;

  private static final class Tenant {
    final long number;
    int filters;

    Tenant(long number) {
      this.number = number;
    }
  }

  private final LongSupplier keys;
  private final ConcurrentHashMap<String, Tenant> tenants = new ConcurrentHashMap<>();
  private final int[] places = new int[LEVELS_MAX + 1];
  private final long[] edges = new long[LEVELS_MAX + 1];

  private volatile FilterTable<V> table;
  private volatile int size; // for readers; the writer counts in `filters`
  private int filters;
  private long tenantsSoFar;
  private long deadText;

  public FilterIndex() {
    this(random());
  }

  /** An index with these keys for its hashes, for tests with bad keys. */
  FilterIndex(LongSupplier keys) {
    this.keys = keys;
    table = new FilterTable<>(newHash(), new FilterTexts(), 0);
  }

  private static LongSupplier random() {
    var random = new SecureRandom();
    // An odd factor with the top bit set keeps every bit of what it multiplies.
    return () -> random.nextLong() | 1 | Long.MIN_VALUE;
  }

  private PathHash newHash() {
    return new PathHash(keys.getAsLong(), keys.getAsLong());
  }

  /** The number of filters. Any thread. */
  public int size() {
    return size;
  }

  /**
   * Visits the values of all filters that match a topic name. Any thread; allocates nothing.
   *
   * @return how many nodes were looked at: where a filter that begins like the topic ends or goes on
   */
  public int match(String tenant, byte[] topic, int offset, int length, Consumer<? super V> visitor) {
    Tenant known = tenants.get(tenant);
    if (known == null) return 0;
    FilterTable<V> now = table;
    return walk(now, known.number, now.hash.root(known.number), topic, offset, offset, offset + length, visitor);
  }

  /**
   * Descends from the node of a path.
   *
   * @param from where in the topic the level after the path begins; greater than {@code end} when there is none
   * @return the number of nodes that were looked at
   */
  private int walk(
      FilterTable<V> now, long tenant, long path, byte[] topic, int start, int from, int end, Consumer<? super V> visitor) {
    int nodes = 0;
    while (true) {
      int place = now.find(path);
      if (place < 0) return nodes;
      nodes++;
      long word = visit(now, place, tenant, topic, start, end, from > end, visitor);
      // Leading wildcards do not match topic names that begin with $ [MQTT-4.7.2-1].
      boolean wildcards = from > start || start == end || topic[start] != '$';
      if (wildcards && (word & FilterTable.HASH) != 0) {
        int all = now.find(now.hash.hash(path));
        if (all >= 0) {
          nodes++;
          visit(now, all, tenant, topic, start, end, true, visitor);
        }
      }
      if (from > end) return nodes;
      boolean plus = wildcards && (word & FilterTable.PLUS) != 0;
      boolean plain = FilterTable.hasPlainChildren(word);
      if (!plus && !plain) return nodes;
      int levelEnd = PathHash.levelEnd(topic, from, end);
      if (plus && !plain) {
        path = now.hash.plus(path);
      } else {
        if (plus) nodes += walk(now, tenant, now.hash.plus(path), topic, start, levelEnd + 1, end, visitor);
        path = now.hash.level(path, topic, from, levelEnd);
      }
      from = levelEnd + 1;
    }
  }

  /**
   * Visits the value at a place if its filter matches.
   *
   * @param ended whether a filter that ends at the node can match
   * @return the node's word that leads to the children to visit: none of them had the value that was looked at here
   */
  private long visit(
      FilterTable<V> now,
      int place,
      long tenant,
      byte[] topic,
      int start,
      int end,
      boolean ended,
      Consumer<? super V> visitor) {
    long word = now.word(place);
    while (FilterTable.hasFilter(word) && (ended || FilterTable.isTail(word))) {
      V value = now.value(place);
      long after = now.word(place);
      if (FilterTable.sameText(word, after) && value != null) {
        if (now.texts.matches(FilterTable.text(word), tenant, topic, start, end)) visitor.accept(value);
        return word;
      }
      word = after; // the filter was removed or moved down a level in between
    }
    return word;
  }

  /** Visits the values of all filters, in no order. Writer only, or any thread when nothing is changed any more; the visitor changes nothing here. */
  public void forEach(Consumer<? super V> visitor) {
    table.forEach((_, _, value) -> visitor.accept(value));
  }

  /** The value of a filter, or null. Any thread. */
  public @Nullable V get(String tenant, String filter) {
    Tenant known = tenants.get(tenant);
    if (known == null) return null;
    byte[] text = filter.getBytes(StandardCharsets.UTF_8);
    FilterTable<V> now = table;
    long path = now.hash.root(known.number);
    int from = 0;
    while (true) {
      int place = now.find(path);
      if (place < 0) return null;
      long word = now.word(place);
      while (FilterTable.hasFilter(word) && (FilterTable.isTail(word) || from > text.length)) {
        V value = now.value(place);
        long after = now.word(place);
        if (FilterTable.sameText(word, after)) {
          return now.texts.equals(FilterTable.text(word), known.number, text) ? value : null;
        }
        word = after;
      }
      if (from > text.length || !FilterTable.hasChildren(word)) return null;
      int levelEnd = PathHash.levelEnd(text, from, text.length);
      path = now.hash.filterLevel(path, text, from, levelEnd);
      from = levelEnd + 1;
    }
  }

  /**
   * Sets the value of a filter. Writer only.
   *
   * @param filter a valid topic filter of at most {@link #LEVELS_MAX} levels
   * @return its previous value, or null
   */
  public @Nullable V put(String tenant, String filter, V value) {
    byte[] text = filter.getBytes(StandardCharsets.UTF_8);
    int levels = levels(text);
    if (text.length == 0 || text.length > FilterTexts.LENGTH_MAX || levels > LEVELS_MAX) {
      throw new IllegalArgumentException("a filter of " + text.length + " bytes and " + levels + " levels");
    }
    Tenant known = tenants.get(tenant);
    if (known == null) {
      known = new Tenant(tenantsSoFar++);
      tenants.put(tenant, known);
    }
    if (!table.hasRoomFor(levels + 1)) table = table.next(table.texts, levels + 1);
    while (true) {
      var outcome = insert(table, known.number, text, value);
      switch (outcome) {
        case Outcome.Replaced<V>(V previous) -> {
          return previous;
        }
        case Outcome.Added<V> _ -> {
          known.filters++;
          size = ++filters;
          return null;
        }
        case Outcome.Collision<V> _ -> table = withOtherKeys(levels + 1);
      }
    }
  }

  private sealed interface Outcome<V> {
    record Added<V>() implements Outcome<V> {}

    record Replaced<V>(V previous) implements Outcome<V> {}

    record Collision<V>() implements Outcome<V> {}
  }

  private static <V> Outcome<V> insert(FilterTable<V> into, long tenant, byte[] text, V value) {
    long path = into.hash.root(tenant);
    int from = 0;
    int parent = -1;
    long edge = 0;
    while (true) {
      boolean ended = from > text.length;
      int place = into.find(path);
      long word = place < 0 ? 0 : into.word(place);
      if (word == 0) {
        into.add(path, into.texts.append(tenant, text, text.length), !ended, value);
        if (parent >= 0) into.link(parent, edge);
        return new Outcome.Added<>();
      }
      long other = FilterTable.text(word);
      if (!into.texts.isOnPath(other, tenant, text, from - 1)) return new Outcome.Collision<>();
      if (FilterTable.hasFilter(word) && into.texts.equals(other, tenant, text)) {
        V previous = into.value(place);
        assert previous != null : "a filter without a value";
        into.replaceValue(place, value);
        return new Outcome.Replaced<>(previous);
      }
      if (FilterTable.isTail(word) && !pushDown(into, place, path, from)) return new Outcome.Collision<>();
      if (ended) {
        into.setFilter(place, into.texts.append(tenant, text, text.length), value);
        return new Outcome.Added<>();
      }
      int levelEnd = PathHash.levelEnd(text, from, text.length);
      edge = FilterTable.edge(text, from, levelEnd);
      path = into.hash.filterLevel(path, text, from, levelEnd);
      from = levelEnd + 1;
      parent = place;
    }
  }

  /** Moves the filter whose tail is at a node one level down; false when another node has its place. */
  private static <V> boolean pushDown(FilterTable<V> in, int place, long path, int from) {
    long offset = FilterTable.text(in.word(place));
    byte[] text = in.texts.text(offset);
    int levelEnd = PathHash.levelEnd(text, from, text.length);
    long child = in.hash.filterLevel(path, text, from, levelEnd);
    V value = in.value(place);
    assert value != null : "a filter without a value";
    if (in.wordOf(child) != 0) return false;
    in.add(child, offset, levelEnd < text.length, value);
    in.link(place, FilterTable.edge(text, from, levelEnd));
    return true;
  }

  /** Rebuilds the table when two paths have the same hash: about once in 10^5 indexes of a million filters. */
  private FilterTable<V> withOtherKeys(int more) {
    while (true) {
      var next = table.withKeys(newHash(), more);
      var rebuild = new Object() {
        boolean collided;
      };
      table.forEach(
          (tenant, text, value) ->
              rebuild.collided |= insert(next, tenant, text, value) instanceof Outcome.Collision);
      deadText = 0;
      if (!rebuild.collided) return next;
    }
  }

  /**
   * Removes a filter. Writer only.
   *
   * @return its previous value, or null
   */
  public @Nullable V remove(String tenant, String filter) {
    Tenant known = tenants.get(tenant);
    if (known == null) return null;
    byte[] text = filter.getBytes(StandardCharsets.UTF_8);
    FilterTable<V> now = table;
    long path = now.hash.root(known.number);
    int from = 0;
    int depth = 0;
    while (true) {
      int place = now.find(path);
      long word = place < 0 ? 0 : now.word(place);
      if (word == 0) return null;
      places[depth] = place;
      if (from > text.length || FilterTable.isTail(word)) {
        if (!FilterTable.hasFilter(word) || !now.texts.equals(FilterTable.text(word), known.number, text)) return null;
        break;
      }
      if (depth == LEVELS_MAX) return null;
      int levelEnd = PathHash.levelEnd(text, from, text.length);
      edges[depth++] = FilterTable.edge(text, from, levelEnd);
      path = now.hash.filterLevel(path, text, from, levelEnd);
      from = levelEnd + 1;
    }
    V previous = now.value(places[depth]);
    boolean gone = now.clearFilter(places[depth]);
    while (gone && depth > 0) {
      depth--;
      gone = now.unlink(places[depth], edges[depth]);
    }
    size = --filters;
    if (--known.filters == 0) tenants.remove(tenant);
    deadText += FilterTexts.sizeOf(text);
    if (deadText > DEAD_TEXT_MIN && deadText * 2 > now.texts.size()) {
      table = now.next(new FilterTexts(), 0);
      deadText = 0;
    } else if (now.isSparse()) {
      table = now.next(now.texts, 0);
    }
    return previous;
  }

  private static int levels(byte[] text) {
    int levels = 1;
    for (byte b : text) if (b == '/') levels++;
    return levels;
  }
}
