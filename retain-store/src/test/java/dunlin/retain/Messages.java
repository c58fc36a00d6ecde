package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Messages for tests, with an acceptance time set by the test. */
final class Messages {
  static final String TENANT = "default";

  private Messages() {}

  /** Limits on the number of messages only. */
  static RetainBounds atMost(long messages) {
    return new RetainBounds(messages, Long.MAX_VALUE, Long.MAX_VALUE);
  }

  static Publication message(String topic, String payload) {
    return message(TENANT, topic, payload);
  }

  static Publication message(String tenant, String topic, String payload) {
    return Publication.of(
        new Publisher(tenant, "client"), topic, QoS.AT_LEAST_ONCE, true, 1000, payload.getBytes(StandardCharsets.UTF_8));
  }

  static Publication expiring(String topic, String payload, long acceptedAtMillis, int expirySeconds) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] content = payload.getBytes(StandardCharsets.UTF_8);
    ByteBuffer body = ByteBuffer.allocate(name.length + 5 + content.length);
    body.put(name).put((byte) 0x02).putInt(expirySeconds).put(content);
    return new Publication(
        new Publisher(TENANT, "client"),
        QoS.AT_LEAST_ONCE,
        true,
        acceptedAtMillis,
        expirySeconds,
        name.length + 1,
        name.length,
        5,
        body.array(),
        null);
  }

  static String payload(Publication message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }
}
