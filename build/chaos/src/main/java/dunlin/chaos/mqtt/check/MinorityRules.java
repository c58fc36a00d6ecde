package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Acknowledged;
import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.Published;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** D14: a broker that is cut off from the others and reached by clients acknowledges nothing, accepts no client, and disconnects those it has. */
public final class MinorityRules {
  /*
   * What was on its way when the broker was cut off may still be answered: only messages that were sent to it afterwards
   * count. CUT is recorded once the links are cut, and MENDED before they are connected again.
   */
  private static final long SECOND = 1_000_000_000L;
  /** The lease of ClusterRows.TIMEOUTS, and the same again on a busy machine. */
  static final long DISCONNECT_MOST = 10 * SECOND;

  private record Cut(int node, long fromNanos, long untilNanos) {
    boolean contains(long nanos) {
      return nanos > fromNanos && nanos < untilNanos;
    }
  }

  private record Place(String client, int connection) {}

  private final Facts facts;
  private final List<Cut> cuts;
  private final List<Violation> violations = new ArrayList<>();

  MinorityRules(Facts facts) {
    this.facts = facts;
    cuts = cuts(facts);
  }

  private static List<Cut> cuts(Facts facts) {
    var cuts = new ArrayList<Cut>();
    Map<Integer, Long> since = new HashMap<>();
    for (var event : facts.events) {
      if (!(event instanceof Event.Broker it)) continue;
      if (it.deed() == Deed.CUT) since.put(it.node(), it.nanos());
      var from = it.deed() == Deed.MENDED ? since.remove(it.node()) : null;
      if (from != null) cuts.add(new Cut(it.node(), from, it.nanos()));
    }
    return cuts;
  }

  List<Violation> check() {
    for (var cut : cuts) {
      connections(cut);
      acknowledgements(cut);
    }
    return violations;
  }

  private void connections(Cut cut) {
    for (var life : facts.lives.values()) {
      for (var event : life) {
        if (!(event instanceof Connected it) || it.node() != cut.node) continue;
        if (cut.contains(it.askedNanos()) && cut.contains(it.nanos())) violations.add(new Violation("D14", "accepted by a minority", it.toString()));
        if (it.nanos() < cut.fromNanos && stays(life, it, cut)) violations.add(new Violation("D14", "not disconnected by a minority", it.toString()));
      }
    }
  }

  private static boolean stays(List<Event> life, Connected connected, Cut cut) {
    long latest = cut.fromNanos + DISCONNECT_MOST;
    return latest < cut.untilNanos
        && life.stream().noneMatch(each -> each instanceof Ended end && end.connection() == connected.connection() && end.nanos() < latest);
  }

  private void acknowledgements(Cut cut) {
    Map<Place, Integer> nodes = new HashMap<>();
    Map<MessageId, Published> last = new HashMap<>();
    for (var event : facts.events) {
      switch (event) {
        case Connected it -> nodes.put(new Place(it.client(), it.connection()), it.node());
        case Published it -> last.put(it.id(), it);
        case Acknowledged it -> {
          var published = last.get(it.id());
          if (!it.success() || published == null || !cut.contains(it.nanos()) || !cut.contains(published.nanos())) continue;
          if (nodes.getOrDefault(new Place(published.client(), published.connection()), 0) == cut.node)
            violations.add(new Violation("D14", "acknowledged by a minority", it.toString()));
        }
        default -> {}
      }
    }
  }
}
