package dunlin.store.settings;

import static dunlin.store.settings.RangeServiceSettings.within;

import java.time.Duration;

/**
 * How a process calls ranges on other nodes.
 *
 * @param timeout the default timeout of a request
 */
public record RangeClientSettings(Bounds bounds, Frames frames, Duration timeout, Retries retries, Silence silence) {
  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  /**
   * Bounds on pending requests.
   *
   * @param rangeRequestsMax pending requests to one range, 1 to 1,048,576; one more is refused
   * @param rangeBytesMax bytes of their commands, at least commandBytesMax; one command more is refused
   * @param nodeRequestsMax pending requests to one node, 1 to 1,048,576; one more is refused
   * @param commandBytesMax largest command, 64 KiB to 16 MiB
   */
  public record Bounds(int rangeRequestsMax, long rangeBytesMax, int nodeRequestsMax, int commandBytesMax) {
    public Bounds {
      within("rangeRequestsMax", rangeRequestsMax, 1, 1 << 20);
      within("commandBytesMax", commandBytesMax, 64 * KIB, 16 * MIB);
      within("rangeBytesMax", rangeBytesMax, commandBytesMax, Long.MAX_VALUE);
      within("nodeRequestsMax", nodeRequestsMax, 1, 1 << 20);
    }
  }

  /**
   * When a frame is full.
   *
   * @param requestsMax requests in one frame, 1 to 4,096
   * @param fullAt bytes, 1 KiB to 1 MiB; a larger command is a frame alone
   */
  public record Frames(int requestsMax, int fullAt) {
    public Frames {
      within("frames.requestsMax", requestsMax, 1, 4096);
      within("frames.fullAt", fullAt, KIB, MIB);
    }
  }

  /**
   * How requests that surely were not done are retried.
   *
   * @param backoffFirst the first pause before a retry; it doubles each time, and is shortened by up to half at random
   * @param backoffMost the longest pause
   * @param hopsMax how many hints to a leader are followed without a pause, 0 to 16
   */
  public record Retries(Duration backoffFirst, Duration backoffMost, int hopsMax) {
    public Retries {
      within("backoffFirst (ms)", backoffFirst.toMillis(), 1, 60_000);
      within("backoffMost (ms)", backoffMost.toMillis(), backoffFirst.toMillis(), 60_000);
      within("hopsMax", hopsMax, 0, 16);
    }
  }

  /**
   * When a node counts as away.
   *
   * @param connectTimeout time without a welcome after which a node counts as away
   * @param stallAfter silence of a node that owes replies after which requests go to others
   * @param keepAlive how long a node may take to answer a ping, which it gets when it is silent, and now and then;
   *     after that its connection is closed, and the outcome of its requests is unknown. At least 100 ms; a node that
   *     is paused for longer, such as in a garbage collection, loses all its pending requests
   */
  public record Silence(Duration connectTimeout, Duration stallAfter, Duration keepAlive) {
    public Silence {
      within("connectTimeout (ms)", connectTimeout.toMillis(), 1, 60_000);
      within("stallAfter (ms)", stallAfter.toMillis(), 1, 60_000);
      within("keepAlive (ms)", keepAlive.toMillis(), 100, 3_600_000);
    }
  }

  public RangeClientSettings {
    within("timeout (ms)", timeout.toMillis(), 1, 3_600_000);
  }

  public static RangeClientSettings defaults() {
    return new RangeClientSettings(
        new Bounds(16_384, 32L * MIB, 32_768, 4 * MIB),
        new Frames(512, 64 * KIB),
        Duration.ofSeconds(10),
        new Retries(Duration.ofMillis(10), Duration.ofMillis(500), 3),
        new Silence(Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ofSeconds(2)));
  }

  public RangeClientSettings with(Bounds other) {
    return new RangeClientSettings(other, frames, timeout, retries, silence);
  }

  public RangeClientSettings with(Silence other) {
    return new RangeClientSettings(bounds, frames, timeout, retries, other);
  }
}
