package dunlin.transport.trace;

import dunlin.model.Publication;

/**
 * What one hop did with one message.
 *
 * @param atMicros microseconds since 1970, by the clock of the node
 * @param hop as the counters of drops name it
 * @param reason of the step; empty for none
 * @param topic its first {@link #TEXT_MAX} characters, as of the other texts
 * @param publisher client identifier; empty for the node itself and the application that embeds it
 * @param client client identifier of the subscriber at hops behind the routes; empty where there is none or it is not known
 * @param qos with which it was published
 * @param retain whether it was published with the flag RETAIN
 * @param payloadBytes size of its payload
 */
public record TraceEvent(
    long atMicros, String hop, String step, String reason, String topic, String publisher, String client, int qos, boolean retain, int payloadBytes) {
  /** The most characters of a text; the rest is cut off. */
  static final int TEXT_MAX = 256;

  /** Estimated memory of an event apart from its texts. */
  private static final int EVENT_BYTES = 256;

  static TraceEvent of(long atMicros, String hop, TraceStep step, String reason, Publication message, String client) {
    return new TraceEvent(
        atMicros, hop, step.label(), cut(reason), cut(message.topic()), cut(message.publisher().clientId()), cut(client), message.qos().code(), message.retain(),
        message.payloadLength());
  }

  private static String cut(String text) {
    return text.length() <= TEXT_MAX ? text : text.substring(0, TEXT_MAX);
  }

  /** Estimated memory. */
  long bytes() {
    return EVENT_BYTES + 2L * (reason.length() + topic.length() + publisher.length() + client.length());
  }
}
