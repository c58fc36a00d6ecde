package dunlin.store.settings;

import java.time.Duration;

/**
 * Bounds of the store service on one node.
 *
 * @param streamsMax streams that may be open, 1 to 65,536: about one for each other node; one more is refused
 * @param requestsMax requests of one stream without a reply, 1 to 1,048,576; at this number the stream is not read from
 * @param bytesMax bytes of their commands, at least frameBytesMax; likewise
 * @param nodeBytesMax bytes of the commands of all streams, at least bytesMax; one more is answered with "overloaded"
 * @param frameBytesMax largest frame taken, 64 KiB to 64 MiB; a larger one ends its stream
 * @param closeTimeout how long calls in progress may take when the service closes, at most 1 min; then its fate is unknown
 * @param plaintextAnywhere whether the service may be open beyond loopback without TLS, where any host that reaches it
 *     counts as a node
 */
public record RangeServiceSettings(
    int streamsMax,
    int requestsMax,
    long bytesMax,
    long nodeBytesMax,
    int frameBytesMax,
    Duration closeTimeout,
    boolean plaintextAnywhere) {
  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  public RangeServiceSettings {
    within("streamsMax", streamsMax, 1, 65_536);
    within("requestsMax", requestsMax, 1, 1 << 20);
    within("frameBytesMax", frameBytesMax, 64 * KIB, 64 * MIB);
    within("bytesMax", bytesMax, frameBytesMax, Long.MAX_VALUE);
    within("nodeBytesMax", nodeBytesMax, bytesMax, Long.MAX_VALUE);
    within("closeTimeout (ms)", closeTimeout.toMillis(), 0, 60_000);
  }

  public RangeServiceSettings(
      int streamsMax, int requestsMax, long bytesMax, long nodeBytesMax, int frameBytesMax, Duration closeTimeout) {
    this(streamsMax, requestsMax, bytesMax, nodeBytesMax, frameBytesMax, closeTimeout, false);
  }

  public static RangeServiceSettings defaults() {
    return new RangeServiceSettings(1024, 8192, 16L * MIB, 128L * MIB, 8 * MIB, Duration.ofSeconds(5));
  }

  static void within(String name, long value, long least, long most) {
    if (value < least || value > most)
      throw new IllegalArgumentException(name + " is " + value + ", must be from " + least + " to " + most);
  }
}
