package dunlin.admin.busy;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/** Which topics and clients are busy, by JMX: {@code dunlin:type=Samples,node=<id>}. */
@Description("Which topics and clients are busy, by a sample of the messages that clients publish to this node")
public interface SamplesMXBean {
  /**
   * A topic or a client in a sample.
   *
   * @param name the topic name or client identifier; at most its first 256 characters
   * @param sampled messages of it in the sample
   * @param sharePercent of all messages in the sample
   * @param perSecond its messages a second: its share of the messages of the tenant that came in, all of which are counted
   * @param payloadBytes of its messages in the sample
   */
  record SampledRow(String name, int sampled, double sharePercent, double perSecond, long payloadBytes) {}

  @Description(
      "Takes for a second a random sample of what clients publish to this node, in which each message is as likely as any other, and lists what is published most, with most"
          + " first; the answer comes when the second is over. Topics that begin with $ are not seen")
  List<SampledRow> sample(
      @Description("Tenant of the publishers: default, unless an authenticator assigns another one") String tenant,
      @Description("What messages are counted by: TOPIC or CLIENT") SampledBy by,
      @Description("Maximum number of rows in the answer: 1 to 100") @Unit("rows") int max);
}
