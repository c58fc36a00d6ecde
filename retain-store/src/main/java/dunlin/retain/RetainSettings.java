package dunlin.retain;

import java.time.Duration;

/**
 * Bounds and pace of the retained messages.
 *
 * @param sweepInterval how often a part of the messages is looked at for expired ones
 * @param sweepMessages how many messages that part has; an expired one is never sent, only its room waits for the sweep
 */
public record RetainSettings(RetainBounds bounds, Duration sweepInterval, int sweepMessages) {
  private static final int TOPICS_PART_OF_HEAP = 8;
  private static final int MESSAGES_PART_OF_DISK = 4;

  public RetainSettings {
    if (sweepInterval.toMillis() < 1) throw new IllegalArgumentException("sweep interval " + sweepInterval);
    if (sweepMessages < 1) throw new IllegalArgumentException("sweep of " + sweepMessages + " messages");
  }

  /**
   * Ten million messages: enough for anyone who means it. Names of topics in an eighth of the heap, at most twice that when they are
   * long and have nothing in common, and messages in a quarter of the disk. So who retains by mistake is refused before memory or the
   * disk ends. One thousand looked at each second: a few milliseconds, and 17 minutes for a million.
   *
   * @param diskBytes 0 when it is not known; then the disk is guarded by its free space alone
   */
  public static RetainSettings defaults(long heapBytes, long diskBytes) {
    long bytesMax = diskBytes == 0 ? Long.MAX_VALUE : Math.max(1, diskBytes / MESSAGES_PART_OF_DISK);
    var bounds = new RetainBounds(10_000_000, Math.max(1, heapBytes / TOPICS_PART_OF_HEAP), bytesMax);
    return new RetainSettings(bounds, Duration.ofSeconds(1), 1000);
  }
}
