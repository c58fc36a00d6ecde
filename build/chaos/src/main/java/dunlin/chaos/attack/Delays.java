package dunlin.chaos.attack;

import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MessageId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How long the requests of a {@link Neighbourhood} took that began within a phase. */
final class Delays {
  /*
   * Each of 63 tenants makes more than one hundredth of all requests. So the p99 over all of them also shows one tenant that waits while the others do not.
   */
  private static final int PERCENT = 99;

  /** As good as in quiet, whatever that was: two cores that broker and clients share do not allow a finer measure. */
  static final Duration UNNOTICED = Duration.ofMillis(5);

  /** What clients wait for. */
  enum Kind {
    PUBACK("PUBACK"),
    RETAINED("PUBACK, retained"),
    ONLINE("delivery, QoS 0"),
    DURABLE("delivery, QoS 1"),
    CONNACK("CONNACK"),
    SUBACK("SUBACK");

    private final String heading;

    Kind(String heading) {
      this.heading = heading;
    }

    @Override
    public String toString() {
      return heading;
    }
  }

  private final long from;
  private final long until;
  private final Map<Kind, List<Duration>> delays = new EnumMap<>(Kind.class);

  private Delays(long from, long until, List<Event> history) {
    this.from = from;
    this.until = until;
    read(history);
  }

  /** The p99 of all requests of a kind, in quiet and during the flood. */
  record Change(Kind kind, Duration quiet, Duration flooded) {
    /** How many times as long it takes during the flood. */
    double ratio() {
      return flooded.toNanos() / (double) Math.max(1, quiet.toNanos());
    }

    /** Whether it takes at most so many times as long, or so little that it makes no difference. */
    boolean isFair(double most) {
      return flooded.compareTo(UNNOTICED) <= 0 || ratio() <= most;
    }

    @Override
    public String toString() {
      return "%.1f, %.1f".formatted(quiet.toNanos() / 1e6, flooded.toNanos() / 1e6);
    }
  }

  /**
   * What has changed for each kind of request; those without an answer count until the end of the history.
   *
   * @param from when the quiet phase began
   * @param until when the flood began
   * @param over when the flood ended
   */
  static List<Change> changes(List<Event> history, long from, long until, long over) {
    var quiet = new Delays(from, until, history);
    var flooded = new Delays(until, over, history);
    return Arrays.stream(Kind.values()).map(kind -> new Change(kind, quiet.p99(kind), flooded.p99(kind))).toList();
  }

  private Duration p99(Kind kind) {
    return Neighbour.percentile(of(kind).stream().sorted().toList(), PERCENT);
  }

  private List<Duration> of(Kind kind) {
    return delays.computeIfAbsent(kind, _ -> new ArrayList<>());
  }

  private void read(List<Event> history) {
    var missing = new EnumMap<Kind, Map<MessageId, Event.Published>>(Kind.class);
    for (var event : history) {
      switch (event) {
        case Event.Published it when !it.dup() && isIn(it.nanos()) -> {
          for (var kind : expected(it)) missing.computeIfAbsent(kind, _ -> new HashMap<>()).put(it.id(), it);
        }
        case Event.Acknowledged it -> {
          answered(missing, Kind.PUBACK, it.id(), it.nanos());
          answered(missing, Kind.RETAINED, it.id(), it.nanos());
        }
        case Event.Received it -> answered(missing, it.qos() == 0 ? Kind.ONLINE : Kind.DURABLE, it.id(), it.nanos());
        case Event.Connected it when isIn(it.askedNanos()) -> add(Kind.CONNACK, it.askedNanos(), it.nanos());
        case Event.Subscribed it when isIn(it.askedNanos()) -> add(Kind.SUBACK, it.askedNanos(), it.nanos());
        default -> {}
      }
    }
    missing.forEach((kind, all) -> all.values().forEach(each -> add(kind, each.nanos(), history.getLast().nanos())));
  }

  private static List<Kind> expected(Event.Published message) {
    return message.retain() ? List.of(Kind.RETAINED) : List.of(Kind.PUBACK, Kind.ONLINE, Kind.DURABLE);
  }

  private void answered(Map<Kind, Map<MessageId, Event.Published>> missing, Kind kind, MessageId id, long nanos) {
    var of = missing.get(kind);
    var message = of == null ? null : of.remove(id);
    if (message != null) add(kind, message.nanos(), nanos);
  }

  private boolean isIn(long nanos) {
    return nanos - from >= 0 && nanos - until < 0;
  }

  private void add(Kind kind, long began, long ended) {
    of(kind).add(Duration.ofNanos(ended - began));
  }
}
