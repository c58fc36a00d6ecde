package dunlin.model;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An application message inside the broker: topic name, properties and payload in the form of an MQTT 5 PUBLISH packet,
 * whatever version it was published with.
 *
 * <p>Immutable, apart from the mark of those who have passed over it, and shared: every tier, thread and session that handles the message holds the same instance.
 */
public final class Publication {
  /*
   * The body is a heap array, not a pooled buffer: a message of a few hundred bytes is copied once out of the socket's
   * buffer (about 10 ns), and then has no owner, needs no reference count across threads and the log, and cannot leak.
   * Layout: topic name | properties without their length | payload. Topic alias and subscription identifiers belong to one
   * connection and are never part of the properties here.
   */
  private static final byte FORMAT = 1;
  private static final int RETAIN = 0x04;
  private static final int UNDER_RULES = 0x08;
  private static final int HEADER = 1 + 1 + 8 + 4 + 4 + 2 + 4 + 4 + 2 + 2;

  private final Publisher publisher;
  private final QoS qos;
  private final boolean retain;
  private final long acceptedAtMillis;
  private final int expirySeconds;
  private final int expiryOffset;
  private final int topicLength;
  private final int propertiesLength;
  private final byte[] body;
  private final @Nullable Exchange exchange;
  private final boolean repetition;
  private final boolean underRules;

  /** The last mark of {@link #passOver}. Written without synchronization: a thread that does not see it looks at the message itself, which only costs time. */
  private @Nullable Object passedOver;

  /**
   * The QoS 2 exchange of a message from a durable session. The packet identifier must be recorded atomically with the
   * message, so that a crash leaves both or neither. Not part of the stored form.
   *
   * <p>A will whose sending is recorded has one, too, with any QoS above 0: it is recorded with the will that it is stored.
   *
   * @param birth of the publishing session, by which ranges know it that do not have it; 0 where only the one that has it is asked, and for a will
   * @param epoch the owner epoch of the publishing session
   * @param packetId the packet identifier, 1 to 65,535; {@link #WILL} for a will
   */
  public record Exchange(long birth, long epoch, int packetId) {
    /** In the place of a packet identifier: no client can use it. */
    public static final int WILL = 0;

    /** An exchange for the range that has the session, which knows its birth. */
    public Exchange(long epoch, int packetId) {
      this(0, epoch, packetId);
    }

    /** Of the will that the connection with this epoch has left. */
    public static Exchange ofWill(long epoch) {
      return new Exchange(epoch, WILL);
    }

    public boolean isOfWill() {
      return packetId == WILL;
    }
  }

  /** No Message Expiry Interval: the message does not expire. */
  public static final int NEVER_EXPIRES = -1;

  /**
   * Wraps an encoded body; the caller must not use the array afterwards.
   *
   * @param acceptedAtMillis when the broker accepted the message, wall clock
   * @param expirySeconds Message Expiry Interval as an unsigned 32-bit number, or {@link #NEVER_EXPIRES} with {@code
   *     expiryOffset} -1
   * @param expiryOffset the offset in the body of the Message Expiry Interval's four bytes, or -1
   * @param topicLength bytes of the topic name at the start of the body, 1 to 65,535
   * @param propertiesLength bytes of the properties after it
   * @param exchange the QoS 2 exchange with a durable session, or null
   */
  public Publication(
      Publisher publisher,
      QoS qos,
      boolean retain,
      long acceptedAtMillis,
      int expirySeconds,
      int expiryOffset,
      int topicLength,
      int propertiesLength,
      byte[] body,
      @Nullable Exchange exchange) {
    if (topicLength < 1 || topicLength > 65_535 || propertiesLength < 0 || propertiesLength > body.length - topicLength) {
      throw new IllegalArgumentException(
          "topic " + topicLength + " and properties " + propertiesLength + " in a body of " + body.length + " bytes");
    }
    if (expiryOffset >= 0 && (expiryOffset < topicLength || expiryOffset > topicLength + propertiesLength - 4)) {
      throw new IllegalArgumentException("expiry at " + expiryOffset + " lies outside the properties");
    }
    this.publisher = publisher;
    this.qos = qos;
    this.retain = retain;
    this.acceptedAtMillis = acceptedAtMillis;
    this.expirySeconds = expirySeconds;
    this.expiryOffset = expiryOffset;
    this.topicLength = topicLength;
    this.propertiesLength = propertiesLength;
    this.body = body;
    this.exchange = exchange;
    repetition = false;
    underRules = false;
  }

  /** The same message, apart from what is given. */
  private Publication(Publication of, long acceptedAtMillis, @Nullable Exchange exchange, boolean repetition, boolean underRules) {
    publisher = of.publisher;
    qos = of.qos;
    retain = of.retain;
    this.acceptedAtMillis = acceptedAtMillis;
    expirySeconds = of.expirySeconds;
    expiryOffset = of.expiryOffset;
    topicLength = of.topicLength;
    propertiesLength = of.propertiesLength;
    body = of.body;
    this.exchange = exchange;
    this.repetition = repetition;
    this.underRules = underRules;
  }

  /** A message without properties, as the broker itself or an MQTT 3 client sends it. */
  public static Publication of(
      Publisher publisher, String topic, QoS qos, boolean retain, long acceptedAtMillis, byte[] payload) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] body = new byte[name.length + payload.length];
    System.arraycopy(name, 0, body, 0, name.length);
    System.arraycopy(payload, 0, body, name.length, payload.length);
    return new Publication(publisher, qos, retain, acceptedAtMillis, NEVER_EXPIRES, -1, name.length, 0, body, null);
  }

  /**
   * Says for all threads that a question about the message needs not be asked again. It is kept until another mark takes its place, and is part of no copy.
   *
   * @param mark stands for the question, and is compared by identity; it should hold no memory, because messages may live long
   */
  public void passOver(Object mark) {
    passedOver = mark;
  }

  /** Whether the message was passed over with this mark; false is no proof of the contrary. */
  @SuppressWarnings("ReferenceEquality") // a mark is an identity
  public boolean isPassedOver(Object mark) {
    return passedOver == mark;
  }

  /** The same message accepted at another time: a will's expiry counts from when it is published. It is a will no longer, so it is not under rules. */
  public Publication acceptedAt(long nowMillis) {
    return new Publication(this, nowMillis, exchange, repetition, false);
  }

  /** The same message as the will of the connection with this epoch, whose sending is recorded. */
  public Publication asWillOf(long epoch) {
    return new Publication(this, acceptedAtMillis, Exchange.ofWill(epoch), repetition, underRules);
  }

  /** The same message as a will that only the broker's access rules allow, and not rules that its client brings. */
  public Publication underRules() {
    return new Publication(this, acceptedAtMillis, exchange, repetition, true);
  }

  /**
   * Whether this is a will that is sent only if the broker's access rules allow it at that time. Part of the stored form; nodes of earlier versions leave it out,
   * so a will without it may be of such a client, too.
   */
  public boolean isUnderRules() {
    return underRules;
  }

  /** The same message for whom its exchange does not matter: the publisher has its answer. */
  public Publication withoutExchange() {
    return exchange == null ? this : new Publication(this, acceptedAtMillis, null, repetition, underRules);
  }

  /** The same message, sent again inside the broker. */
  public Publication asRepetition() {
    return new Publication(this, acceptedAtMillis, exchange, true, underRules);
  }

  /**
   * Whether it is sent again inside the broker, and may have been delivered before. Then it is not delivered with QoS 0,
   * which must not come twice. Not part of the stored form.
   */
  public boolean isRepetition() {
    return repetition;
  }

  /** The QoS 2 exchange with the durable session that published it, or that of a will; null for none. */
  public @Nullable Exchange exchange() {
    return exchange;
  }

  public Publisher publisher() {
    return publisher;
  }

  public String tenant() {
    return publisher.tenant();
  }

  public QoS qos() {
    return qos;
  }

  /** Whether the publisher set the RETAIN flag. */
  public boolean retain() {
    return retain;
  }

  /** When the broker accepted the message: milliseconds since 1970, the accepting node's clock. */
  public long acceptedAtMillis() {
    return acceptedAtMillis;
  }

  /** Bytes of the topic name, which is at the start of {@link #body()}. */
  public int topicLength() {
    return topicLength;
  }

  public int propertiesLength() {
    return propertiesLength;
  }

  public int payloadOffset() {
    return topicLength + propertiesLength;
  }

  public int payloadLength() {
    return body.length - topicLength - propertiesLength;
  }

  /** Topic name, properties, payload. Must not be modified; only for writing to a socket, a log or a hash. */
  public byte[] body() {
    return body;
  }

  /** The offset in {@link #body()} of the Message Expiry Interval's four bytes, or -1. */
  public int expiryOffset() {
    return expiryOffset;
  }

  /** Message Expiry Interval as an unsigned 32-bit number; only with an {@link #expiryOffset()}. */
  public int expirySeconds() {
    return expirySeconds;
  }

  /** Whether these are the bytes of the topic name. */
  public boolean hasTopic(byte[] name) {
    return Arrays.equals(body, 0, topicLength, name, 0, name.length);
  }

  public String topic() {
    return new String(body, 0, topicLength, StandardCharsets.UTF_8);
  }

  public byte[] payload() {
    byte[] payload = new byte[payloadLength()];
    System.arraycopy(body, payloadOffset(), payload, 0, payload.length);
    return payload;
  }

  /** Whether its Message Expiry Interval has passed [MQTT-3.3.2-5]. */
  public boolean expired(long nowMillis) {
    return expiryOffset >= 0 && nowMillis - acceptedAtMillis >= expiryMillis();
  }

  /** The remaining seconds of the Message Expiry Interval, 0 to 4,294,967,295 [MQTT-3.3.2-6]; only with an expiry. */
  public long remainingExpirySeconds(long nowMillis) {
    long left = expiryMillis() - Math.max(0, nowMillis - acceptedAtMillis);
    return Math.max(0, (left + 999) / 1000);
  }

  private long expiryMillis() {
    return Integer.toUnsignedLong(expirySeconds) * 1000;
  }

  /** Bytes that {@link #writeTo} writes. */
  public int encodedLength() {
    return HEADER + encodedText(publisher.tenant()).length + encodedText(publisher.clientId()).length + body.length;
  }

  /** Writes the stored form, which logs and stores use; {@link #readFrom} reads it. */
  public void writeTo(ByteBuffer out) {
    byte[] tenant = encodedText(publisher.tenant());
    byte[] clientId = encodedText(publisher.clientId());
    out.put(FORMAT);
    out.put((byte) (qos.code() | (retain ? RETAIN : 0) | (underRules ? UNDER_RULES : 0)));
    out.putLong(acceptedAtMillis);
    out.putInt(expirySeconds);
    out.putInt(expiryOffset);
    out.putShort((short) topicLength);
    out.putInt(propertiesLength);
    out.putInt(body.length);
    out.putShort((short) tenant.length).put(tenant);
    out.putShort((short) clientId.length).put(clientId);
    out.put(body);
  }

  /**
   * Reads the stored form and moves the buffer past it.
   *
   * @throws IllegalStateException when the format of the bytes is unknown
   */
  public static Publication readFrom(ByteBuffer in) {
    byte format = in.get();
    if (format != FORMAT) throw new IllegalStateException("stored message of unknown format " + format);
    byte flags = in.get();
    long acceptedAtMillis = in.getLong();
    int expirySeconds = in.getInt();
    int expiryOffset = in.getInt();
    int topicLength = Short.toUnsignedInt(in.getShort());
    int propertiesLength = in.getInt();
    int bodyLength = in.getInt();
    String tenant = readText(in);
    String clientId = readText(in);
    if (bodyLength < 0 || bodyLength > in.remaining()) {
      throw new IllegalStateException("stored message of " + bodyLength + " bytes in " + in.remaining());
    }
    byte[] body = new byte[bodyLength];
    in.get(body);
    var read =
        new Publication(
            new Publisher(tenant, clientId),
            QoS.of(flags & 0x03),
            (flags & RETAIN) != 0,
            acceptedAtMillis,
            expirySeconds,
            expiryOffset,
            topicLength,
            propertiesLength,
            body,
            null);
    return (flags & UNDER_RULES) == 0 ? read : read.underRules();
  }

  private static byte[] encodedText(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String readText(ByteBuffer in) {
    byte[] bytes = new byte[Short.toUnsignedInt(in.getShort())];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public String toString() {
    return "Publication[" + topic() + ", " + qos + (retain ? ", retain" : "") + ", " + payloadLength() + " bytes]";
  }
}
