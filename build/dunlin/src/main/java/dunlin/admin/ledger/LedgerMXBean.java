package dunlin.admin.ledger;

import dunlin.runtime.metrics.Description;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What has become of messages at each hop of a node, by JMX: {@code dunlin:type=Ledger,node=<id>}. */
@Description("What has become of messages at each hop of the node since it started; that of all nodes is shown by the bean AllNodes")
public interface LedgerMXBean {
  /** Where a message can be lost without a count. */
  String UNCOUNTED = "what a killed process had in memory; QoS 0 that a client's socket had taken when its connection ended; and QoS 0 pushed to a connection that has just ended,"
          + " which dunlin.inbox.pushes-undeliverable and dunlin.frontend.pushes-undeliverable count together with what waits in its inbox";

  /** What a figure is that a hop does not count. */
  long NOT_COUNTED = -1;

  /**
   * A hop of a node: {@code received = delivered + unmatched + returned + dropped + inFlight}; at {@code publish}, {@code session} and {@code routes} whatever is on its way
   * while it is read, at all others when nothing is. Hops that count nothing but what they drop have -1 for the other figures.
   *
   * @param hop as traces spell it
   * @param received messages that it was to deliver; of several copies of a message, each
   * @param unmatched messages for which there is no subscriber; only at {@code routes}
   * @param returned messages that went back to where they came from
   * @param dropped for all reasons together
   * @param inFlight messages that it has at this moment
   * @param reasons how many were dropped for each, as traces spell it; without those of which there are none
   */
  record HopRow(String node, String hop, long received, long delivered, long unmatched, long returned, long dropped, long inFlight, Map<String, Long> reasons) {
    public HopRow {
      reasons = Collections.unmodifiableMap(new TreeMap<>(reasons));
    }

    /** A hop that counts only what it drops. */
    static HopRow ofDrops(String node, String hop, Map<String, Long> reasons) {
      return new HopRow(node, hop, NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, sum(reasons), NOT_COUNTED, reasons);
    }

    static long sum(Map<String, Long> reasons) {
      return reasons.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  @Description(
      "What has become of messages at each hop: received = delivered + unmatched + returned + dropped + in flight; -1 for what a hop does not count. What is lost and in no row: "
          + UNCOUNTED)
  List<HopRow> getHops();
}
