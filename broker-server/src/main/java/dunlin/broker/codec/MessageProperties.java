package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Checks the properties of a PUBLISH packet or will, and finds those that the broker needs. It does not decode the
 * others: subscribers get them byte for byte [MQTT-3.3.2-4, -15 to -20]. MQTT 5, sections 3.1.3.2 and 3.3.2.3.
 */
final class MessageProperties {
  /*
   * One property is not sent to subscribers and is cut out when the block is copied: the topic alias, which belongs to
   * one connection, or the will delay. It may appear only once, so there is at most one gap.
   */
  private ByteBuf in = Unpooled.EMPTY_BUFFER;
  private int from;
  private int length;
  private int expiryIndex;
  private int cutIndex;
  private int cutLength;
  private long cutValue;
  private boolean text;

  void clear() {
    in = Unpooled.EMPTY_BUFFER;
    from = 0;
    length = 0;
    expiryIndex = -1;
    cutIndex = -1;
    cutLength = 0;
    cutValue = 0;
    text = false;
  }

  /** Reads the properties with their length; {@code allowed} is that of PUBLISH or of wills. */
  void read(PacketReader reader, long allowed, String packet) {
    readTo(reader, reader.readPropertiesEnd(), allowed, packet);
  }

  /** Reads the properties that end at an index, without their length. */
  void readTo(PacketReader reader, int to, long allowed, String packet) {
    clear();
    if (to == reader.index()) return;
    in = reader.buffer();
    from = reader.index();
    length = to - from;
    int packetEnd = reader.narrow(to);
    int userProperties = 0;
    long seen = 0;
    while (reader.remaining() > 0) {
      int id = ControlProperties.readId(reader, allowed, seen, packet);
      seen |= PropertyId.bit(id);
      switch (id) {
        case PropertyId.PAYLOAD_FORMAT_INDICATOR -> text = ControlProperties.readFlag(reader, id);
        case PropertyId.MESSAGE_EXPIRY_INTERVAL -> {
          expiryIndex = reader.index();
          reader.readInt("Message Expiry Interval");
        }
        case PropertyId.CONTENT_TYPE -> reader.skipText("Content Type");
        case PropertyId.RESPONSE_TOPIC -> checkResponseTopic(reader);
        case PropertyId.CORRELATION_DATA -> reader.skipBinary("Correlation Data");
        case PropertyId.USER_PROPERTY -> {
          ControlProperties.countUserProperty(reader, ++userProperties);
          reader.skipText("name of a User Property");
          reader.skipText("value of a User Property");
        }
        case PropertyId.TOPIC_ALIAS -> {
          cutIndex = reader.index() - 1;
          cutValue = reader.readShort("Topic Alias");
          cutLength = 3;
          int maximum = reader.limits().topicAliasMaximum();
          if (cutValue == 0) throw reader.error(ReasonCode.TOPIC_ALIAS_INVALID, "Topic Alias 0"); // [MQTT-3.3.2-8]
          if (cutValue > maximum) {
            throw reader.exceeded(
                Limit.TOPIC_ALIASES, ReasonCode.TOPIC_ALIAS_INVALID, "Topic Alias " + cutValue, maximum); // [MQTT-3.3.2-9]
          }
        }
        case PropertyId.WILL_DELAY_INTERVAL -> {
          cutIndex = reader.index() - 1;
          cutValue = reader.readInt("Will Delay Interval");
          cutLength = 5;
        }
        default -> throw new IllegalStateException("allowed but not read: " + PropertyId.name(id));
      }
    }
    reader.narrow(packetEnd);
  }

  private static void checkResponseTopic(PacketReader reader) {
    int topicLength = reader.skipText("Response Topic");
    if (topicLength == 0) throw reader.protocolError("empty Response Topic"); // [MQTT-4.7.3-1]
    int at = reader.index() - topicLength;
    if (TopicNames.levels(reader.buffer(), at, topicLength) < 0) {
      throw reader.protocolError("Response Topic with wildcards: " + reader.quoted(at, topicLength)); // [MQTT-3.3.2-14]
    }
  }

  /** The topic alias, 0 for none. */
  int topicAlias() {
    return (int) cutValue;
  }

  /** The will delay, 0 for none. */
  long willDelaySeconds() {
    return cutValue;
  }

  /** Whether the payload is declared as UTF-8 text: Payload Format Indicator 1. */
  boolean text() {
    return text;
  }

  boolean hasExpiry() {
    return expiryIndex >= 0;
  }

  int expirySeconds() {
    return expiryIndex >= 0 ? in.getInt(expiryIndex) : Publication.NEVER_EXPIRES;
  }

  /** Length in bytes of the properties that subscribers get. */
  int keptLength() {
    return length - cutLength;
  }

  /** The offset, in the kept properties, of the four bytes of the Message Expiry Interval, or -1. */
  int expiryOffset() {
    if (expiryIndex < 0) return -1;
    return expiryIndex - from - (cutIndex >= 0 && cutIndex < expiryIndex ? cutLength : 0);
  }

  /** Copies the kept properties. */
  void copy(byte[] target, int at) {
    if (cutIndex < 0) {
      in.getBytes(from, target, at, length);
      return;
    }
    int before = cutIndex - from;
    in.getBytes(from, target, at, before);
    in.getBytes(cutIndex + cutLength, target, at + before, length - before - cutLength);
  }
}
