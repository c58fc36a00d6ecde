package dunlin.store.settings;

import static dunlin.store.settings.RangeServiceSettings.within;

import java.time.Duration;

/**
 * How a process calls ranges on other nodes.
 *
 * @param rangeRequestsMax requests to one range without an end, 1 to 1,048,576; one more is refused
 * @param rangeBytesMax bytes of their commands, at least commandBytesMax; likewise
 * @param nodeRequestsMax requests that wait for one node or are under way there, 1 to 1,048,576; one more is refused
 * @param commandBytesMax largest command, 64 KiB to 16 MiB
 * @param frameRequests requests in one frame, 1 to 4,096
 * @param frameBytes size at which a frame is full, 1 KiB to 1 MiB; a larger command is a frame alone
 * @param timeout deadline of a request that is given none
 * @param backoffFirst the first pause before a request is sent again; twice as long each time, and between half and all of it
 *     by chance
 * @param backoffMost the longest pause
 * @param hopsMax how many hints to a leader are followed without a pause, 0 to 16
 * @param connectTimeout after which a node that has not welcomed us counts as away
 * @param stallAfter silence of a node, while it owes replies, after which requests go to others
 * @param keepAlive how long a node may owe a sign of life when it is asked for one, which is when it is silent, and now and then;
 *     then its connection is closed, and what is under way is of unknown fate. At least 100 ms; a node that stands still for
 *     longer, such as in a collection, is given up with all that it was about to answer
 */
public record RangeClientSettings(
    int rangeRequestsMax,
    long rangeBytesMax,
    int nodeRequestsMax,
    int commandBytesMax,
    int frameRequests,
    int frameBytes,
    Duration timeout,
    Duration backoffFirst,
    Duration backoffMost,
    int hopsMax,
    Duration connectTimeout,
    Duration stallAfter,
    Duration keepAlive) {
  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  public RangeClientSettings {
    within("rangeRequestsMax", rangeRequestsMax, 1, 1 << 20);
    within("commandBytesMax", commandBytesMax, 64 * KIB, 16 * MIB);
    within("rangeBytesMax", rangeBytesMax, commandBytesMax, Long.MAX_VALUE);
    within("nodeRequestsMax", nodeRequestsMax, 1, 1 << 20);
    within("frameRequests", frameRequests, 1, 4096);
    within("frameBytes", frameBytes, KIB, MIB);
    within("timeout (ms)", timeout.toMillis(), 1, 3_600_000);
    within("backoffFirst (ms)", backoffFirst.toMillis(), 1, 60_000);
    within("backoffMost (ms)", backoffMost.toMillis(), backoffFirst.toMillis(), 60_000);
    within("hopsMax", hopsMax, 0, 16);
    within("connectTimeout (ms)", connectTimeout.toMillis(), 1, 60_000);
    within("stallAfter (ms)", stallAfter.toMillis(), 1, 60_000);
    within("keepAlive (ms)", keepAlive.toMillis(), 100, 3_600_000);
  }

  public static RangeClientSettings defaults() {
    return new RangeClientSettings(
        16_384,
        32L * MIB,
        32_768,
        4 * MIB,
        512,
        64 * KIB,
        Duration.ofSeconds(10),
        Duration.ofMillis(10),
        Duration.ofMillis(500),
        3,
        Duration.ofSeconds(2),
        Duration.ofSeconds(1),
        Duration.ofSeconds(2));
  }
}
