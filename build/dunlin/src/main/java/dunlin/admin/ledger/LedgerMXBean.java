package dunlin.admin.ledger;

import dunlin.runtime.metrics.Description;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What has become of messages at each hop of a node, by JMX: {@code dunlin:type=Ledger,node=<id>}. */
@Description("What has become of messages at each hop of the node since it started; that of all nodes is shown by the bean AllNodes")
public interface LedgerMXBean {
  /** What a figure is that a hop does not count. */
  long NOT_COUNTED = -1;

  /**
   * A hop of a node: {@code received = delivered + returned + dropped + inFlight}, whatever is on its way while it is read. Hops that count nothing but what
   * they drop have -1 for the other figures.
   *
   * @param hop as traces spell it
   * @param received messages that it was to deliver; of several copies of a message, each
   * @param returned messages that went back to where they came from
   * @param dropped for all reasons together
   * @param inFlight messages that it has at this moment
   * @param reasons how many were dropped for each, as traces spell it; without those of which there are none
   */
  record HopRow(String node, String hop, long received, long delivered, long returned, long dropped, long inFlight, Map<String, Long> reasons) {
    public HopRow {
      reasons = Collections.unmodifiableMap(new TreeMap<>(reasons));
    }

    /** A hop that counts only what it drops. */
    static HopRow ofDrops(String node, String hop, Map<String, Long> reasons) {
      return new HopRow(node, hop, NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, sum(reasons), NOT_COUNTED, reasons);
    }

    static long sum(Map<String, Long> reasons) {
      return reasons.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  @Description("What has become of messages at each hop: received = delivered + returned + dropped + in flight, in each reading; -1 for what a hop does not count")
  List<HopRow> getHops();
}
