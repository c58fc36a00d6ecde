package dunlin.broker;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What lanes are compared by, to find those with most of it. */
public enum LaneFigure {
  /** Publishes a second, by a difference of two readings. */
  RATE,
  /** Time since the oldest publish was accepted that is not acknowledged. */
  OLDEST,
  /** Messages that hold credit. */
  MESSAGES,
  /** Bytes of these messages. */
  BYTES,
  /** Connections that are not read from until there is credit. */
  HELD;

  /** The names of all, as the admin API spells them. */
  public static final List<String> LABELS = Arrays.stream(values()).map(each -> each.name().toLowerCase(Locale.ROOT)).toList();

  /** How much of it a lane has. */
  long of(LanesMXBean.LaneRow lane) {
    return switch (this) {
      case RATE -> lane.perSecond();
      case OLDEST -> lane.oldestMillis();
      case MESSAGES -> lane.messages();
      case BYTES -> lane.bytes();
      case HELD -> lane.heldConnections();
    };
  }
}
