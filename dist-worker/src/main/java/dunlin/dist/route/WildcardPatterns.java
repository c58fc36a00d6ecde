package dunlin.dist.route;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Where the topic filters of each tenant have single-level wildcards. How many such patterns there are bounds what a match costs; MQTT 5, section 4.7.1.3. */
final class WildcardPatterns {
  /*
   * A pattern is a filter, or the beginning of one, when the names of its levels are left out: "a/+/b/#" and "x/+/y" both have "?/+" and "?/+/?". A topic says how the named levels of a
   * pattern must be called, so a match visits at most one node of the index for each pattern, and one more for a "#" behind it, however many filters there are. What has no "+" in front of it adds two
   * nodes for each level of the topic. Filters that people write have a few patterns; all filters of eleven levels have less than 4,096. A client that subscribes to filters which only differ in where
   * their wildcards are needs one for each, and can double them with each level otherwise.
   *
   * Owner: any thread, under the lock. The range's applying thread counts the filters of routes; those that are being set count as well, since threads that set them take their share before. No match looks here.
   * Bounds: for each tenant a node for each pattern, and for each level in front of the first "+". RouteServer has none set that would bring too many, but what a log says is counted in any case.
   */
  private static final char PLUS = '+';
  private static final char ALL = '#';

  /** A level of a pattern; how many filters have it. */
  private static final class Node {
    @Nullable Node plus;
    @Nullable Node named;
    int filters;

    @Nullable Node next(boolean wild) {
      return wild ? plus : named;
    }

    void next(boolean wild, @Nullable Node node) {
      if (wild) plus = node;
      else named = node;
    }
  }

  private static final class Tenant {
    final Node root = new Node();
    int patterns;
  }

  @GuardedBy("this")
  private final Map<String, Tenant> tenants = new HashMap<>();

  /** How many patterns a tenant's filters have. */
  synchronized int size(String tenant) {
    Tenant of = tenants.get(tenant);
    return of == null ? 0 : of.patterns;
  }

  /** Counts a filter. */
  void add(String tenant, String filter) {
    boolean added = take(tenant, filter, Integer.MAX_VALUE);
    assert added : "too many patterns for a number";
  }

  /** Counts a filter, unless it has a pattern that is new and its tenant then has more than this; returns whether it was counted. */
  synchronized boolean take(String tenant, String filter, int max) {
    if (isWithoutPattern(filter)) return true;
    boolean[] levels = levels(filter);
    Tenant of = tenants.get(tenant);
    int known = of == null ? 0 : of.patterns;
    int more = missing(of, levels);
    if (more > 0 && known + (long) more > max) return false;
    if (of == null) {
      of = new Tenant();
      tenants.put(tenant, of);
    }
    of.patterns += more;
    Node node = of.root;
    node.filters++;
    for (boolean plus : levels) {
      Node next = node.next(plus);
      if (next == null) {
        next = new Node();
        node.next(plus, next);
      }
      next.filters++;
      node = next;
    }
    return true;
  }

  /** How many patterns of a filter its tenant does not have. */
  private static int missing(@Nullable Tenant of, boolean[] levels) {
    Node node = of == null ? null : of.root;
    boolean wild = false;
    int missing = 0;
    for (boolean plus : levels) {
      wild |= plus;
      if (node != null) node = node.next(plus);
      if (wild && node == null) missing++;
    }
    return missing;
  }

  /** Ends the count of a filter, which must have been counted. */
  synchronized void remove(String tenant, String filter) {
    if (isWithoutPattern(filter)) return;
    Tenant of = tenants.get(tenant);
    if (of == null) throw new IllegalStateException("a filter that was not counted");
    Node node = of.root;
    boolean wild = false;
    if (--node.filters == 0) tenants.remove(tenant);
    for (boolean plus : levels(filter)) {
      wild |= plus;
      Node next = node.next(plus);
      if (next == null) throw new IllegalStateException("a filter that was not counted");
      if (--next.filters == 0) {
        node.next(plus, null);
        if (wild) of.patterns--;
      }
      node = next;
    }
  }

  private static boolean isWithoutPattern(String filter) {
    return filter.indexOf(PLUS) < 0;
  }

  /** Which levels in front of "#" are "+". */
  private static boolean[] levels(String filter) {
    int slashes = 0;
    for (int i = 0; i < filter.length(); i++) if (filter.charAt(i) == '/') slashes++;
    var levels = new boolean[filter.charAt(filter.length() - 1) == ALL ? slashes : slashes + 1];
    int level = 0;
    for (int i = 0; i < filter.length(); i++) {
      if (filter.charAt(i) == '/') level++;
      else if (filter.charAt(i) == PLUS) levels[level] = true; // which has a level to itself, as "#" has
    }
    return levels;
  }
}
