package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** A PUBLISH packet of either direction, in tests. */
record Publish(
    boolean dup, QoS qos, boolean retain, int packetId, String topic, List<Prop> properties, byte[] payload) {

  private static final Publisher PUBLISHER = new Publisher(Publisher.DEFAULT_TENANT, "c");
  static final long NOW = 1_000_000;

  /** The message that the broker would hold. */
  Publication publication() {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] block = Prop.block(properties);
    int expiryOffset = -1;
    int expiry = Publication.NEVER_EXPIRES;
    int at = name.length;
    for (Prop property : properties) {
      if (property.id() == 0x02) {
        expiryOffset = at + 1;
        expiry = (int) property.number();
      }
      at += property.encoded().length;
    }
    return new Publication(
        PUBLISHER, qos, retain, NOW, expiry, expiryOffset, name.length, block.length, Wire.join(name, block, payload), null);
  }

  /** Whether the message has its topic name, and none that differs in one byte, wherever that is, or in its length. */
  private static boolean hasOneTopic(Publication message) {
    byte[] name = Arrays.copyOf(message.body(), message.topicLength());
    if (!message.hasTopic(name)) return false;
    for (int i = 0; i < Math.min(name.length, 100); i++) {
      name[i] ^= 1;
      if (message.hasTopic(name)) return false;
      name[i] ^= 1;
    }
    return !message.hasTopic(Arrays.copyOf(name, name.length - 1)) && !message.hasTopic(Arrays.copyOf(name, name.length + 1));
  }

  /** The packet that was read, after a check of its consistency. */
  static Publish of(InboundPublish inbound) {
    Publication message = inbound.toPublication(PUBLISHER, NOW, null);
    byte[] body = message.body();
    List<Prop> properties =
        Prop.parse(Arrays.copyOfRange(body, message.topicLength(), message.topicLength() + message.propertiesLength()));
    long expiry = -1;
    for (Prop property : properties) if (property.id() == 0x02) expiry = property.number();
    boolean consistent =
        inbound.topic().equals(message.topic())
            && hasOneTopic(message)
            && inbound.topicLength() == message.topicLength()
            && inbound.payloadLength() == message.payloadLength()
            && inbound.bodyLength() == body.length
            && inbound.qos() == message.qos()
            && inbound.retain() == message.retain()
            && inbound.hasExpiry() == (expiry >= 0)
            && (message.expiryOffset() >= 0) == (expiry >= 0)
            && (expiry < 0 || message.remainingExpirySeconds(NOW) == expiry)
            && (expiry < 0
                || Integer.toUnsignedLong(ByteBuffer.wrap(body).getInt(message.expiryOffset())) == expiry);
    if (!consistent) throw new AssertionError("accessors and publication differ: " + message);
    return new Publish(
        inbound.dup(), inbound.qos(), inbound.retain(), inbound.packetId(), message.topic(), properties, message.payload());
  }

  @Override
  public String toString() {
    return "Publish[" + dup + ", " + qos + ", " + retain + ", " + packetId + ", \"" + topic + "\", "
        + Prop.canonical(properties) + ", " + HexFormat.of().formatHex(payload) + ']';
  }
}
