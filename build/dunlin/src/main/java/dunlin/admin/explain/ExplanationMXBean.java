package dunlin.admin.explain;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/** Why a client gets a message or not, by JMX: {@code dunlin:type=Explanation,node=<id>}. */
@Description("Explains what would happen to a message for a client")
public interface ExplanationMXBean {
  /** The largest payload, as large as the largest packet may be. */
  int BYTES_MAX = 2 * 1_024 * 1_024;

  /** The largest Message Expiry Interval, in seconds. */
  long EXPIRY_MAX = 0xFFFF_FFFFL;

  /** Outcomes of a step: the message goes on; it ends here; it depends on what a node has that did not answer. */
  String PASSES = "passes";
  String STOPS = "stops";
  String UNKNOWN = "unknown";

  /**
   * One step on the way of a message.
   *
   * @param step such as {@code subscription}
   * @param outcome passes, stops or unknown
   * @param finding a sentence
   */
  record Step(String step, String outcome, String finding) {}

  /**
   * @param conclusion what would happen: delivered now, waits until the client takes it, stored until the client is back, one member of its
   *     group gets it, waits until a member of its group takes it, withheld, dropped, not delivered, or not known
   * @param reason the sentence of the step that decides
   * @param steps in the order of a message's way, up to the one that stops it
   */
  record Explanation(String conclusion, String reason, List<Step> steps) {
    public Explanation {
      steps = List.copyOf(steps);
    }
  }

  @Description("Says step by step what would happen now to a message on a topic for a client, and which step stops it. Nothing is published")
  Explanation explain(
      @Description("Tenant of publisher and client") String tenant,
      @Description("Client identifier of the client that should get it") String clientId,
      @Description("Topic name") String topic,
      @Description("Client identifier of the publisher; empty for the application or the node itself") String publisher,
      @Description("QoS of the message: 0 to 2") int qos,
      @Description("Whether the message has the flag RETAIN") boolean retain,
      @Description("Bytes of its payload: 0 to 2097152") @Unit("bytes") int bytes,
      @Description("Its Message Expiry Interval in seconds; -1 for none") @Unit("seconds") long expirySeconds);
}
