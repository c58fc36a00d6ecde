package dunlin.model;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * Consistent hashing: assigns each name to a member. Adding or removing a member only moves its own share of the names,
 * and a lookup takes logarithmic time.
 */
public final class HashRing<M> {
  /*
   * Owner: one thread adds and removes; any thread finds, without a lock.
   * Bounds: POINTS entries a member. Shares of members differ by about a third with that many. The same members give
   * the same result in every process and version: no hash of the JVM is used.
   */
  private static final int POINTS = 16;
  private static final long STEP = 0x9E3779B97F4A7C15L;

  private final ConcurrentSkipListMap<Long, M> ring = new ConcurrentSkipListMap<>();

  /** Adds a member under a name that no other member has. */
  public void add(String name, M member) {
    long hash = hash(name);
    for (int i = 1; i <= POINTS; i++) ring.putIfAbsent(mix(hash + i * STEP), member);
  }

  /** Removes the member with this name. */
  public void remove(String name, M member) {
    long hash = hash(name);
    for (int i = 1; i <= POINTS; i++) ring.remove(mix(hash + i * STEP), member);
  }

  /** The member that a name is assigned to, or null when there are no members. */
  public @Nullable M find(String name) {
    Map.Entry<Long, M> next = ring.ceilingEntry(mix(hash(name)));
    if (next == null) next = ring.firstEntry();
    return next == null ? null : next.getValue();
  }

  /** FNV-1a over the characters: 64 bits, so that two names do not share all their points. */
  private static long hash(String name) {
    long hash = 0xCBF29CE484222325L;
    for (int i = 0; i < name.length(); i++) hash = (hash ^ name.charAt(i)) * 0x100000001B3L;
    return hash;
  }

  private static long mix(long value) {
    long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
