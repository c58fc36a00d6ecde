package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The will message of a CONNECT packet; MQTT 5, section 3.1.3.
 *
 * @param topic the will topic, a valid topic name
 * @param payload the will payload, at most 65,535 bytes
 * @param delaySeconds Will Delay Interval, 0 to 4,294,967,295
 * @param properties its properties as a PUBLISH packet carries them, without their length and without the Will Delay
 *     Interval
 * @param expiryOffset the offset of the four bytes of the Message Expiry Interval in the properties, or -1
 */
public record Will(
    String topic, byte[] payload, QoS qos, boolean retain, long delaySeconds, byte[] properties, int expiryOffset) {

  private static final byte[] NO_PROPERTIES = {};

  public Will {
    if (delaySeconds < 0 || delaySeconds > 0xFFFF_FFFFL) throw new IllegalArgumentException("will delay " + delaySeconds);
    if (expiryOffset != -1 && (expiryOffset < 1 || expiryOffset + 4 > properties.length)) {
      throw new IllegalArgumentException("expiry at " + expiryOffset + " in properties of " + properties.length + " bytes");
    }
  }

  /** A will without properties and delay, as in MQTT 3. */
  public static Will of(String topic, byte[] payload, QoS qos, boolean retain) {
    return new Will(topic, payload, qos, retain, 0, NO_PROPERTIES, -1);
  }

  /** The message to publish when the will becomes due; its expiry starts at that time [MQTT-3.1.3-10]. */
  public Publication toPublication(Publisher publisher, long nowMillis) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] body = new byte[name.length + properties.length + payload.length];
    ByteBuffer.wrap(body).put(name).put(properties).put(payload);
    boolean expires = expiryOffset >= 0;
    return new Publication(
        publisher,
        qos,
        retain,
        nowMillis,
        expires ? ByteBuffer.wrap(properties).getInt(expiryOffset) : Publication.NEVER_EXPIRES,
        expires ? name.length + expiryOffset : -1,
        name.length,
        properties.length,
        body,
        null);
  }
}
