package dunlin;

import java.util.Objects;

/**
 * A message that the application publishes, or gets.
 *
 * @param topic a topic name; MQTT 5, section 4.7
 * @param payload not to be changed any more
 * @param qos 0, 1 or 2: as it is published, or was
 * @param retained published: whether it becomes the topic's retained message, or with an empty payload removes that. Received: whether it
 *     was there when the application subscribed
 */
public record Message(String topic, byte[] payload, int qos, boolean retained) {
  public Message {
    Objects.requireNonNull(topic);
    Objects.requireNonNull(payload);
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("qos is " + qos + "; it must be 0, 1 or 2");
  }

  /** A message that is not retained. */
  public static Message of(String topic, byte[] payload, int qos) {
    return new Message(topic, payload, qos, false);
  }
}
