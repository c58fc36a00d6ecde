package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A client's PUBLISH packet, read in place in the socket's buffer; MQTT 5, section 3.3. There is one object per
 * connection; it is valid only while {@link PacketHandler#onPublish} runs.
 */
public final class InboundPublish {
  /*
   * Owner: the connection's event loop.
   * Bounds: the alias table holds at most topicAliasMaximum names of at most topicLengthMax bytes, and grows with the
   * highest alias used. It changes only after the whole packet was found valid.
   * Failure: outside the callback, every accessor that needs the buffer throws IllegalStateException.
   */
  private static final byte[] NO_NAME = {};
  private static final byte[][] NO_ALIASES = {};

  private final PacketReader reader;
  private final MessageProperties properties = new MessageProperties();

  private ByteBuf in = Unpooled.EMPTY_BUFFER;
  private boolean valid;
  private int flags;
  private int packetId;
  private int topicIndex;
  private int topicLength;
  private byte[] aliasedTopic = NO_NAME;
  private int payloadIndex;
  private int payloadLength;
  private byte[][] aliases = NO_ALIASES;

  InboundPublish(DecoderLimits limits) {
    reader = new PacketReader(limits);
  }

  /** Reads the packet whose bytes after the fixed header are at {@code from} to {@code to}. */
  void read(ByteBuf buffer, int firstByte, int from, int to, ProtocolVersion version) {
    reader.reset(buffer, from, to, version);
    in = buffer;
    flags = firstByte;
    topicLength = reader.skipText("topic name");
    topicIndex = reader.index() - topicLength;
    if (topicLength > 0) TopicNames.check(reader, topicLength, "topic name");
    packetId = (firstByte & 0x06) == 0 ? 0 : reader.readPacketId();
    if (version.hasProperties()) properties.read(reader, PropertyId.IN_PUBLISH, "PUBLISH");
    else properties.clear();
    payloadIndex = reader.index();
    payloadLength = reader.remaining();
    resolveTopic();
    valid = true;
  }

  /** Forgets the buffer, which its owner may now release. */
  void end() {
    valid = false;
    in = Unpooled.EMPTY_BUFFER;
    reader.reset(in, 0, 0, null);
    properties.clear();
    aliasedTopic = NO_NAME;
  }

  private void resolveTopic() {
    aliasedTopic = NO_NAME;
    int alias = properties.topicAlias();
    if (topicLength > 0) {
      if (alias > 0) point(alias);
      return;
    }
    if (alias == 0) throw reader.protocolError("empty topic name without a Topic Alias"); // [MQTT-4.7.3-1]
    aliasedTopic = alias <= aliases.length ? aliases[alias - 1] : NO_NAME;
    if (aliasedTopic.length == 0) throw reader.protocolError("Topic Alias " + alias + " is not assigned to a topic name");
    topicLength = aliasedTopic.length;
  }

  private void point(int alias) {
    if (alias > aliases.length) {
      int capacity = Math.min(reader.limits().topicAliasMaximum(), Math.max(alias, 2 * aliases.length));
      byte[][] grown = new byte[capacity][];
      for (int i = 0; i < capacity; i++) grown[i] = i < aliases.length ? aliases[i] : NO_NAME;
      aliases = grown;
    }
    if (stands(aliases[alias - 1])) return; // clients tend to send name and alias together each time
    byte[] name = new byte[topicLength];
    in.getBytes(topicIndex, name);
    aliases[alias - 1] = name;
  }

  private boolean stands(byte[] name) {
    if (name.length != topicLength) return false;
    for (int i = 0; i < name.length; i++) if (name[i] != in.getByte(topicIndex + i)) return false;
    return true;
  }

  /** Whether the client declares this to be a repetition. */
  public boolean dup() {
    return (flags & 0x08) != 0;
  }

  public QoS qos() {
    return QoS.of((flags >> 1) & 0x03);
  }

  public boolean retain() {
    return (flags & 0x01) != 0;
  }

  /** 1 to 65,535, or 0 with QoS 0. */
  public int packetId() {
    return packetId;
  }

  /** Length of the topic name in bytes, also if the packet has an alias instead. */
  public int topicLength() {
    return topicLength;
  }

  /** The topic name; created at each call. */
  public String topic() {
    if (aliasedTopic.length > 0) return new String(aliasedTopic, StandardCharsets.UTF_8);
    byte[] name = new byte[topicLength];
    buffer().getBytes(topicIndex, name);
    return new String(name, StandardCharsets.UTF_8);
  }

  /** Whether the payload is declared as UTF-8 text but is not; scans all of it. MQTT 5, section 3.3.2.3.2. */
  public boolean violatesPayloadFormat() {
    return properties.text() && !Utf8.wellFormed(buffer(), payloadIndex, payloadLength);
  }

  public int payloadLength() {
    return payloadLength;
  }

  /** Whether it has a Message Expiry Interval. */
  public boolean hasExpiry() {
    return properties.hasExpiry();
  }

  /** Length in bytes of the body that {@link #toPublication} would create, for quotas. */
  public int bodyLength() {
    return topicLength + properties.keptLength() + payloadLength;
  }

  /**
   * Copies the message out of the socket's buffer.
   *
   * @param exchange the QoS 2 exchange with a durable session, or null
   */
  public Publication toPublication(Publisher publisher, long nowMillis, Publication.@Nullable Exchange exchange) {
    ByteBuf source = buffer();
    int propertiesLength = properties.keptLength();
    byte[] body = new byte[bodyLength()];
    if (aliasedTopic.length > 0) System.arraycopy(aliasedTopic, 0, body, 0, topicLength);
    else source.getBytes(topicIndex, body, 0, topicLength);
    if (propertiesLength > 0) properties.copy(body, topicLength);
    source.getBytes(payloadIndex, body, topicLength + propertiesLength, payloadLength);
    return new Publication(
        publisher,
        qos(),
        retain(),
        nowMillis,
        properties.expirySeconds(),
        properties.hasExpiry() ? topicLength + properties.expiryOffset() : -1,
        topicLength,
        propertiesLength,
        body,
        exchange);
  }

  private ByteBuf buffer() {
    if (!valid) throw new IllegalStateException("PUBLISH used outside its callback");
    return in;
  }
}
