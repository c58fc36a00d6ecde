package dunlin.interop;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A message, to be sent or received, with what MQTT 5 adds to it. */
record Message(String topic, byte[] payload, int qos, boolean retained, Properties properties) {
  /**
   * @param expirySeconds 0 for none
   * @param alias 0 for none
   */
  record Properties(
      List<Pair> user,
      @Nullable String contentType,
      @Nullable String responseTopic,
      byte @Nullable [] correlationData,
      long expirySeconds,
      int alias,
      List<Integer> subscriptionIdentifiers) {
    static final Properties NONE = new Properties(List.of(), null, null, null, 0, 0, List.of());
  }

  /** A user property. */
  record Pair(String name, String value) {}

  static Message of(String topic, String payload, int qos) {
    return new Message(topic, payload.getBytes(StandardCharsets.UTF_8), qos, false, Properties.NONE);
  }

  Message retain() {
    return new Message(topic, payload, qos, true, properties);
  }

  Message with(Properties others) {
    return new Message(topic, payload, qos, retained, others);
  }

  String text() {
    return new String(payload, StandardCharsets.UTF_8);
  }
}
