package dunlin.load.plan;

import java.util.Arrays;

/** The figures that expectations can use. */
public enum Figure {
  LOST("lost", Kind.COUNT, true),
  DUPLICATED("duplicated", Kind.COUNT, true),
  OUT_OF_ORDER("out-of-order", Kind.COUNT, true),
  UNACKNOWLEDGED("unacknowledged", Kind.COUNT, true),
  REFUSED_CONNECTS("refused-connects", Kind.COUNT, true),
  FAILED_CONNECTS("failed-connects", Kind.COUNT, true),
  REFUSED_PUBLISHES("refused-publishes", Kind.COUNT, true),
  REFUSED_SUBSCRIPTIONS("refused-subscriptions", Kind.COUNT, true),
  DISCONNECTS("disconnects", Kind.COUNT, true),
  TIMEOUTS("timeouts", Kind.COUNT, true),
  QUEUE_DROPS("queue-drops", Kind.COUNT, true),
  PUBLISHED("published", Kind.COUNT, false),
  RECEIVED("received", Kind.COUNT, false),
  RETAINED("retained", Kind.COUNT, false),
  WILLS("wills", Kind.COUNT, false),
  CONNECTED("connected", Kind.COUNT, false),
  MEAN("mean", Kind.TIME, true),
  P50("p50", Kind.TIME, true),
  P90("p90", Kind.TIME, true),
  P99("p99", Kind.TIME, true),
  P999("p99.9", Kind.TIME, true),
  MAX("max", Kind.TIME, true),
  ACK_P99("acknowledge-p99", Kind.TIME, true),
  CONNECT_P99("connect-p99", Kind.TIME, true),
  CONNECT_MAX("connect-max", Kind.TIME, true),
  SUBSCRIBE_P99("subscribe-p99", Kind.TIME, true);

  private final String key;
  private final Kind kind;
  private final boolean betterLow;

  /** The unit of a figure. */
  public enum Kind {
    COUNT,
    /** Microseconds. */
    TIME
  }

  Figure(String key, Kind kind, boolean betterLow) {
    this.key = key;
    this.kind = kind;
    this.betterLow = betterLow;
  }

  public String key() {
    return key;
  }

  public Kind kind() {
    return kind;
  }

  boolean isBetterLow() {
    return betterLow;
  }

  static Figure named(String name) {
    for (Figure figure : values()) if (figure.key.equals(name)) return figure;
    throw new IllegalArgumentException("nothing is called \"%s\"; there are %s".formatted(name, String.join(", ", Arrays.stream(values()).map(Figure::key).toList())));
  }

  double parse(String text) {
    if (kind == Kind.TIME) return Units.duration(text).toNanos() / 1_000.0;
    if (!text.matches("[0-9][0-9_]*")) throw new IllegalArgumentException("\"%s\" is no number for %s".formatted(text, key));
    return Long.parseLong(text.replace("_", ""));
  }
}
