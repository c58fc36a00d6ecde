package dunlin.dist;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.util.List;

/**
 * Bounds of the routes.
 *
 * @param memoryMax memory that all routes of the process may take, as {@link RouteRange#memoryOf} counts it
 * @param groupsMax groups of shared subscriptions with the same topic filter; a matching message goes to a member of
 *     each
 */
public record DistSettings(long memoryMax, int groupsMax) {
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

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(MEMORY_MAX, GROUPS_MAX);

  private static final int MEMORY_PART_OF_HEAP = 2;

  public DistSettings {
    if (memoryMax < 1) throw new IllegalArgumentException("routes of " + memoryMax + " bytes");
    if (groupsMax < 1) throw new IllegalArgumentException(groupsMax + " groups of a filter");
  }

  /** @param heapBytes the largest heap of this process */
  public static DistSettings from(Settings settings, long heapBytes) {
    long memory = settings.get(MEMORY_MAX);
    return new DistSettings(memory == 0 ? defaults(heapBytes).memoryMax : memory, settings.get(GROUPS_MAX));
  }

  /**
   * Half of the heap: the subscriptions that a single node accepts need two fifths at most. A thousand groups, since
   * each message is matched to all groups of its filter.
   */
  public static DistSettings defaults(long heapBytes) {
    return new DistSettings(Math.max(1, heapBytes / MEMORY_PART_OF_HEAP), GROUPS_MAX.defaultValue());
  }
}
