package dunlin.load.report;

import dunlin.load.count.Codes;
import dunlin.load.count.Count;
import dunlin.load.count.Snapshot;
import dunlin.load.engine.BrokerUse;
import dunlin.load.engine.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The texts of a result besides its times, which all reports share. */
final class Facts {
  private Facts() {}

  /** Messages by QoS: a label and three numbers. */
  record ByQos(String label, long qos0, long qos1, long qos2) {}

  static List<ByQos> messages(Result result) {
    long[] lost = result.tally().lost();
    return List.of(
        of(result, "published", Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2),
        new ByQos("acknowledged", 0, result.snapshot().get(Count.ACKNOWLEDGED_1), result.snapshot().get(Count.ACKNOWLEDGED_2)),
        of(result, "received", Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2),
        new ByQos("lost", lost[0], lost[1], lost[2]),
        of(result, "duplicated", Count.DUPLICATED_0, Count.DUPLICATED_1, Count.DUPLICATED_2),
        of(result, "out of order", Count.OUT_OF_ORDER_0, Count.OUT_OF_ORDER_1, Count.OUT_OF_ORDER_2));
  }

  private static ByQos of(Result result, String label, Count qos0, Count qos1, Count qos2) {
    return new ByQos(label, result.snapshot().get(qos0), result.snapshot().get(qos1), result.snapshot().get(qos2));
  }

  /** A label and a number. */
  record Numbered(String label, long number) {}

  /** All faults and failures whose count is not 0. */
  static List<Numbered> troubles(Snapshot snapshot) {
    var troubles = new ArrayList<Numbered>();
    for (Count count :
        List.of(
            Count.CONNECT_REFUSED, Count.CONNECT_FAILED, Count.CONNECT_TIMED_OUT, Count.DISCONNECTED_BY_BROKER, Count.CONNECTION_LOST,
            Count.PROTOCOL_ERRORS, Count.PING_TIMED_OUT, Count.SUBSCRIBE_REFUSED, Count.SUBSCRIBE_TIMED_OUT, Count.PUBLISH_REFUSED,
            Count.PUBLISH_TIMED_OUT, Count.UNACKNOWLEDGED, Count.QUEUE_DROPPED, Count.WRITTEN_OFF, Count.UNCHECKED, Count.FOREIGN, Count.REPEATED, Count.RESENT)) {
      long number = snapshot.get(count);
      if (number > 0) troubles.add(new Numbered(count.label(), number));
    }
    for (Codes kind : Codes.values()) {
      snapshot.reasons(kind).forEach((name, number) -> troubles.add(new Numbered(kind.label() + ": " + name, number)));
    }
    snapshot.failures().forEach((name, number) -> troubles.add(new Numbered("network: " + name, number)));
    return troubles;
  }

  /** Counts that are neither times nor failures. */
  static List<Numbered> others(Result result) {
    var others = new ArrayList<Numbered>();
    for (Count count : List.of(Count.CONNECTED, Count.SUBSCRIBED, Count.RETAINED, Count.WILLS, Count.BYTES_OUT, Count.BYTES_IN)) {
      long number = result.snapshot().get(count);
      if (number > 0) others.add(new Numbered(count.label(), number));
    }
    return others;
  }

  /** CPU time and memory of the tool and the broker, as sentences. */
  static List<String> resources(Result result) {
    var lines = new ArrayList<String>();
    long messages = result.published() + result.received();
    lines.addAll(result.notes());
    lines.add(perThousand("The tool", result.toolCpuSeconds(), messages));
    BrokerUse broker = result.broker();
    if (broker == null) return lines;
    lines.add(perThousand("The broker", broker.cpuSeconds(), messages));
    long connections = result.snapshot().get(Count.CONNECTED);
    long grown = broker.residentBytesAfter() - broker.residentBytesBefore();
    lines.add(
        String.format(
            Locale.ROOT, "The broker's memory was %,.1f MB before and %,.1f MB at most%s.", broker.residentBytesBefore() / 1e6, broker.residentBytesAfter() / 1e6,
            connections > 0 ? String.format(Locale.ROOT, ", which is %,.1f KB for each connection", grown / 1e3 / connections) : ""));
    return lines;
  }

  private static String perThousand(String who, double seconds, long messages) {
    String each = messages > 0 ? String.format(Locale.ROOT, ", %.4f s for each thousand messages in and out", seconds * 1_000 / messages) : "";
    return String.format(Locale.ROOT, "%s took %.2f CPU-seconds%s.", who, seconds, each);
  }
}
