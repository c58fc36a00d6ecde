package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/** Makes messages that come from no packet, by the rules for PUBLISH packets; MQTT 5, section 3.3. */
public final class MessageForm {
  private MessageForm() {}

  /**
   * Makes a message.
   *
   * @param acceptedAtMillis from when its Message Expiry Interval counts
   * @param properties as in a PUBLISH packet, without their length and without a Topic Alias
   * @throws MalformedPacketException when the topic name or the properties are invalid or beyond the limits; its message says why
   */
  public static Publication message(
      Publisher publisher, String topic, QoS qos, boolean retain, long acceptedAtMillis, byte[] properties, byte[] payload, DecoderLimits limits) {
    TopicNames.check(topic, limits);
    MessageProperties read = new MessageProperties();
    PacketReader reader = new PacketReader(limits);
    reader.reset(Unpooled.wrappedBuffer(properties), 0, properties.length, null);
    read.readTo(reader, properties.length, PropertyId.IN_MESSAGE, "a message");
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] body = new byte[name.length + properties.length + payload.length];
    System.arraycopy(name, 0, body, 0, name.length);
    System.arraycopy(properties, 0, body, name.length, properties.length);
    System.arraycopy(payload, 0, body, name.length + properties.length, payload.length);
    return new Publication(
        publisher, qos, retain, acceptedAtMillis, read.expirySeconds(), read.hasExpiry() ? name.length + read.expiryOffset() : -1, name.length, properties.length,
        body, null);
  }
}
