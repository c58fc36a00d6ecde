package dunlin.load.plan;

/** A topic filter that each client of a pool subscribes to. */
public record Subscribing(Template filter, int qos) {
  public Subscribing {
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, and not " + qos);
    if (filter.toString().isEmpty()) throw new IllegalArgumentException("a topic filter is empty");
    if (isShared(filter.toString()) && filterOfShared(filter.toString()).isEmpty()) {
      throw new IllegalArgumentException("the shared subscription \"%s\" is not $share/GROUP/FILTER".formatted(filter));
    }
  }

  public boolean isShared() {
    return isShared(filter.toString());
  }

  /** Whether a filter is a shared subscription: $share of MQTT 5, or $oshare or $queue of some brokers. */
  public static boolean isShared(String filter) {
    return filter.startsWith("$share/") || filter.startsWith("$oshare/");
  }

  /** The filter after the name of the group. */
  public static String filterOfShared(String filter) {
    int slash = filter.indexOf('/', filter.indexOf('/') + 1);
    return slash < 0 ? "" : filter.substring(slash + 1);
  }
}
