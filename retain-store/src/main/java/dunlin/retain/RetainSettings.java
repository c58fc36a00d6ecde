package dunlin.retain;

import java.time.Duration;

/**
 * Bounds and pace of the retained messages.
 *
 * @param messagesMax how many topics may have a retained message; a further topic is refused with 0x97. The topics, not
 *     the payloads, are kept in memory, each in 10 to 50 bytes
 * @param sweepInterval how often a part of the messages is looked at for expired ones
 * @param sweepMessages how many messages that part has; an expired one is never sent, only its room waits for the sweep
 */
public record RetainSettings(long messagesMax, Duration sweepInterval, int sweepMessages) {
  public RetainSettings {
    if (messagesMax < 1) throw new IllegalArgumentException("retained messages: at most " + messagesMax);
    if (sweepInterval.toMillis() < 1) throw new IllegalArgumentException("sweep interval " + sweepInterval);
    if (sweepMessages < 1) throw new IllegalArgumentException("sweep of " + sweepMessages + " messages");
  }

  /**
   * Ten million messages: enough for anyone who means it, and as many as a heap of 1 GB holds the topics of, so that who
   * retains by mistake is refused before memory ends. One thousand looked at each second: a few milliseconds, and 17
   * minutes for a million.
   */
  public static RetainSettings defaults() {
    return new RetainSettings(10_000_000, Duration.ofSeconds(1), 1000);
  }
}
