package dunlin.retain;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.List;

/**
 * Limits of retained messages, and the rate of the sweep.
 *
 * @param sweepInterval how often a part of the messages is checked for expired ones
 * @param sweepMessages the number of messages in that part. An expired one is never sent; only its space waits for the
 *     sweep
 */
public record RetainSettings(RetainBounds bounds, Duration sweepInterval, int sweepMessages) {
  private static final long BYTES_MOST = 1L << 40;

  private static final Setting<Long> MESSAGES_MAX =
      Setting.longInteger(
          "dunlin.retain.messages-max", 10_000_000, 1, 1_000_000_000, "Maximum number of topics with a retained message. A"
              + " message of one more topic is refused with 0x97. The limits of retained messages are for the whole cluster. With several ranges they may be exceeded by what is stored within about a second.");
  private static final Setting<Long> TOPIC_BYTES_MAX =
      Setting.bytes("dunlin.retain.topic-bytes-max", 0, 0, BYTES_MOST, "Maximum sum of the lengths of all topics with a retained message,"
          + " which are kept in memory. A message of one more topic is refused with 0x97. 0: an eighth of the maximum heap.");
  private static final Setting<Long> BYTES_MAX =
      Setting.bytes("dunlin.retain.bytes-max", 0, 0, BYTES_MOST, "Maximum size of all retained messages and their topics on disk. A"
          + " message that does not fit is refused with 0x97. 0: a quarter of the disk that holds the data directory.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(MESSAGES_MAX, TOPIC_BYTES_MAX, BYTES_MAX);

  private static final int TOPICS_PART_OF_HEAP = 8;
  private static final int MESSAGES_PART_OF_DISK = 4;

  public RetainSettings {
    if (sweepInterval.toMillis() < 1) throw new IllegalArgumentException("sweep interval " + sweepInterval);
    if (sweepMessages < 1) throw new IllegalArgumentException("sweep of " + sweepMessages + " messages");
  }

  /**
   * @param heapBytes the largest heap of this process
   * @param diskBytes the size of the disk of the data directory
   */
  public static RetainSettings from(Settings settings, long heapBytes, long diskBytes) {
    var defaults = defaults(heapBytes, diskBytes);
    long topicBytes = settings.get(TOPIC_BYTES_MAX);
    long bytes = settings.get(BYTES_MAX);
    var bounds =
        new RetainBounds(
            settings.get(MESSAGES_MAX),
            topicBytes == 0 ? defaults.bounds().topicBytesMax() : topicBytes,
            bytes == 0 ? defaults.bounds().bytesMax() : bytes);
    return new RetainSettings(bounds, defaults.sweepInterval(), defaults.sweepMessages());
  }

  /**
   * Ten million messages, which is enough for any intended use. Names of topics use an eighth of the heap, or twice
   * that when they are long and have nothing in common, and messages a quarter of the disk. So a client that retains by
   * mistake is refused before memory or disk is exhausted. The sweep checks one thousand messages a second: that takes
   * a few milliseconds, and 17 minutes for a million.
   *
   * @param diskBytes 0 when unknown; then only the limit of free space protects the disk
   */
  public static RetainSettings defaults(long heapBytes, long diskBytes) {
    long bytesMax = diskBytes == 0 ? Long.MAX_VALUE : Math.max(1, diskBytes / MESSAGES_PART_OF_DISK);
    var bounds = new RetainBounds(MESSAGES_MAX.defaultValue(), Math.max(1, heapBytes / TOPICS_PART_OF_HEAP), bytesMax);
    return new RetainSettings(bounds, Duration.ofSeconds(1), 1000);
  }
}
