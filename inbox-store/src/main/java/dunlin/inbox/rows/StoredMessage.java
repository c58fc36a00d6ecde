package dunlin.inbox.rows;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A message row: the header of a message in an inbox. It says how to send the message and where the message itself is
 * stored. The header never holds the message, so that moving, counting or removing messages takes a few bytes for each.
 *
 * @param qos the QoS to send with; in a group's inbox the publisher's QoS
 * @param retain the RETAIN flag to send with
 * @param released whether the client's PUBREC is recorded
 * @param size the number of bytes that the message counts for in its inbox
 * @param expiresAt when its Message Expiry Interval ends, milliseconds since 1970, or {@link #NEVER}
 * @param identifiers subscription identifiers to send with
 * @param group the shared subscription through which it came, or null
 * @param topic a hash of the topic name if the message is, or was, its topic's retained message, else {@link #NONE};
 *     two topics may have the same hash
 * @param bodyId the body row that holds the message, or {@link #OWN}
 */
public record StoredMessage(
    QoS qos,
    boolean retain,
    boolean released,
    int size,
    long expiresAt,
    int[] identifiers,
    @Nullable TopicFilter group,
    long topic,
    long bodyId) {
  /** The expiry of a message without Message Expiry Interval. */
  public static final long NEVER = 0;

  /** The message is in a content row of this inbox alone, with the same sequence. */
  public static final long OWN = 0;

  /** The topic hash of a message that is not a retained message. */
  public static final long NONE = 0;

  private static final int FORMAT = 3;
  private static final int RETAIN = 0x04;
  private static final int RELEASED = 0x08;
  private static final int GROUP = 0x10;
  private static final int TOPIC = 0x20;

  public static long expiresAt(Publication message) {
    if (message.expiryOffset() < 0) return NEVER;
    return message.acceptedAtMillis() + message.remainingExpirySeconds(message.acceptedAtMillis()) * 1000;
  }

  /**
   * The topic hash in the header of a message. A reader that finds the hash of its own topic for another topic takes
   * its topic for changed and reads it again, so colliding topics cost only an extra read.
   */
  public static long topic(Publication message) {
    if (!message.retain()) return NONE;
    long hash = 0xCBF29CE484222325L; // FNV-1a, mixed
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) hash = (hash ^ (body[i] & 0xFF)) * 0x100000001B3L;
    hash = (hash ^ (hash >>> 32)) * 0x9E3779B97F4A7C15L;
    return hash == NONE ? 1 : hash;
  }

  public boolean expired(long now) {
    return expiresAt != NEVER && now >= expiresAt;
  }

  public StoredMessage withReleased() {
    return new StoredMessage(qos, retain, true, size, expiresAt, identifiers, group, topic, bodyId);
  }

  public StoredMessage withoutGroup() {
    return new StoredMessage(qos, retain, released, size, expiresAt, identifiers, null, topic, bodyId);
  }

  /** The bytes of the row. */
  public byte[] toBytes() {
    return FieldWriter.bytesOf(this::writeTo);
  }

  private void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    out.octet(
        qos.code()
            | (retain ? RETAIN : 0)
            | (released ? RELEASED : 0)
            | (group != null ? GROUP : 0)
            | (topic != NONE ? TOPIC : 0));
    out.number(size);
    out.number(expiresAt);
    out.number(identifiers.length);
    for (int identifier : identifiers) out.number(identifier);
    if (group != null) SessionFields.writeFilter(out, group);
    if (topic != NONE) out.number(topic);
    out.number(bodyId);
  }

  /** Reads a row. */
  public static StoredMessage read(byte[] value) {
    return FieldReader.read(value, StoredMessage::readFields);
  }

  private static StoredMessage readFields(FieldReader in) {
    int format = in.octet();
    if (format != FORMAT) throw new IllegalStateException("message row of unknown format " + format);
    int flags = in.octet();
    int size = in.count();
    long expiresAt = in.number();
    int[] identifiers = new int[in.countWithin()];
    for (int i = 0; i < identifiers.length; i++) identifiers[i] = in.count();
    TopicFilter group = (flags & GROUP) != 0 ? SessionFields.readFilter(in) : null;
    return new StoredMessage(
        QoS.of(flags & 0x03),
        (flags & RETAIN) != 0,
        (flags & RELEASED) != 0,
        size,
        expiresAt,
        identifiers,
        group,
        (flags & TOPIC) != 0 ? in.number() : NONE,
        in.number());
  }

  public static Publication message(byte[] bytes) {
    return Publication.readFrom(ByteBuffer.wrap(bytes));
  }

  public static byte[] bytes(Publication message) {
    byte[] bytes = new byte[message.encodedLength()];
    message.writeTo(ByteBuffer.wrap(bytes));
    return bytes;
  }
}
