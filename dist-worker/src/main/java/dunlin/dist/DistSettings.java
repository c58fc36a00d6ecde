package dunlin.dist;

import dunlin.dist.route.RouteRange;
import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.List;

/**
 * Bounds of the dist tier.
 *
 * @param memoryMax memory that all routes of the process may take, as {@link RouteRange#memoryOf} counts it
 * @param groupsMax groups of shared subscriptions with the same topic filter; a matching message goes to a member of
 *     each
 * @param patternsMax patterns of wildcards that the topic filters of a tenant may have in a range
 * @param inFlightMax bytes of messages from frontends of other processes that are being delivered
 */
public record DistSettings(long memoryMax, int groupsMax, int patternsMax, long inFlightMax) {
  private static final long MEMORY_MOST = 1L << 40;

  static final Setting<Long> MEMORY_MAX =
      Setting.bytes(
          "dunlin.dist.memory-max", 0, 0, MEMORY_MOST,
          "Maximum amount of memory that all routes take: 256 bytes for each, and twice the length of its topic filter. A route says that a frontend, or a"
              + " shard of durable sessions, has subscriptions of a filter. Beyond it, subscriptions that need one more are refused with 0x97. 0: half of the"
              + " maximum heap.");
  static final Setting<Integer> GROUPS_MAX =
      Setting.integer(
          "dunlin.dist.groups-max", 1_000, 1, 1_000_000,
          "Maximum number of groups of shared subscriptions with the same topic filter. A message that it matches goes to a member of each. A"
              + " subscription that needs one more group is refused with 0x97.");
  static final Setting<Integer> PATTERNS_MAX =
      Setting.integer(
          "dunlin.dist.patterns-max", 4_096, 16, 1_000_000,
          "Maximum number of patterns of the wildcard + in the topic filters of one tenant, in each range of routes. A pattern is where a filter, or the beginning of one, has"
              + " wildcards, whatever its other levels are called: a/+/b and x/+/y have the same two, ?/+ and ?/+/?. To match a message takes at most two steps for each of"
              + " them and for each level of its topic. A subscription that needs one more is refused with 0x97.");
  static final Setting<Long> IN_FLIGHT_MAX =
      Setting.bytes(
          "dunlin.dist.in-flight-max", 0, 0, MEMORY_MOST,
          "Maximum number of bytes of messages that the node which leads the routes of a cluster delivers at the same time. All lanes of all nodes share"
              + " it evenly, with 64 KiB each at least. Publishers beyond it are not read from. 0: an eighth of the maximum heap.");

  public static final Setting<Duration> AUDIT_INTERVAL =
      Setting.duration(
          "dunlin.dist.audit-interval", Duration.ofMinutes(10), Duration.ZERO, Duration.ofDays(7),
          "Time between two comparisons of the dist tier's routes with the subscriptions of this node's connected clients. What differs is mended and"
              + " counted. 0: never.");

  public static final Setting<Duration> ROUTES_KEPT =
      Setting.duration(
          "dunlin.dist.routes-kept", Duration.ofMinutes(5), Duration.ZERO, Duration.ofDays(7),
          "Time after which the routes of a frontend that counts as dead (dunlin.cluster.down-after) are removed. Until then they cost memory, and each message that"
              + " matches one of them is counted in dunlin.dist.unattached. The node that leads the first range of routes removes them. 0: never.");

  public static final List<Setting<?>> ALL = List.of(MEMORY_MAX, GROUPS_MAX, PATTERNS_MAX, IN_FLIGHT_MAX, AUDIT_INTERVAL, ROUTES_KEPT);

  private static final int MEMORY_PART_OF_HEAP = 2;
  private static final int IN_FLIGHT_PART_OF_HEAP = 8;

  public DistSettings {
    if (memoryMax < 1) throw new IllegalArgumentException("routes of " + memoryMax + " bytes");
    if (groupsMax < 1) throw new IllegalArgumentException(groupsMax + " groups of a filter");
    if (patternsMax < 1) throw new IllegalArgumentException(patternsMax + " patterns of wildcards");
    if (inFlightMax < 1) throw new IllegalArgumentException(inFlightMax + " bytes in flight");
  }

  /** @param heapBytes the largest heap of this process */
  public static DistSettings from(Settings settings, long heapBytes) {
    var defaults = defaults(heapBytes);
    long memory = settings.get(MEMORY_MAX);
    long inFlight = settings.get(IN_FLIGHT_MAX);
    return new DistSettings(
        memory == 0 ? defaults.memoryMax : memory, settings.get(GROUPS_MAX), settings.get(PATTERNS_MAX), inFlight == 0 ? defaults.inFlightMax : inFlight);
  }

  /**
   * Half of the heap: the subscriptions that a single node accepts need two fifths at most. A thousand groups, since
   * each message is matched to all groups of its filter. An eighth of the heap in flight: a destination that does not
   * take messages keeps a copy of them.
   */
  public static DistSettings defaults(long heapBytes) {
    return new DistSettings(
        Math.max(1, heapBytes / MEMORY_PART_OF_HEAP), GROUPS_MAX.defaultValue(), PATTERNS_MAX.defaultValue(), Math.max(1, heapBytes / IN_FLIGHT_PART_OF_HEAP));
  }
}
