package dunlin;

import java.util.Objects;

/**
 * A message that the application publishes or receives.
 *
 * @param topic a topic name; MQTT 5, section 4.7
 * @param payload must not be changed afterwards
 * @param qos 0, 1 or 2, as published
 * @param retained when published: whether it becomes the topic's retained message, or with an empty payload removes
 *     that. When received: whether it was retained before the application subscribed
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
