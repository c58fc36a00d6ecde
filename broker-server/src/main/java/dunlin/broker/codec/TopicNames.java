package dunlin.broker.codec;

import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Checks topic names, which, unlike topic filters, may be published to; MQTT 5, section 4.7. */
public final class TopicNames {
  /*
   * The bytes are known to be UTF-8, where no byte of a longer sequence looks like an ASCII character, so wildcards and
   * level separators are searched for byte by byte, eight in one step.
   */
  private static final long SEVEN = 0x7F7F7F7F7F7F7F7FL;
  private static final long ONES = 0x0101010101010101L;
  private static final byte[] SHARE = {'$', 's', 'h', 'a', 'r', 'e'};
  private static final byte[] ORDERED_SHARE = {'$', 'o', 's', 'h', 'a', 'r', 'e'};

  private TopicNames() {}

  /**
   * Checks a topic name of at least one byte that ends at the reader's index: no wildcards [MQTT-3.3.2-2], within the
   * limits, and not beginning like a shared subscription, because no other subscription could match it.
   */
  static void check(PacketReader reader, int length, String what) {
    int from = reader.index() - length;
    ByteBuf in = reader.buffer();
    DecoderLimits limits = reader.limits();
    if (length > limits.packets().topicLengthMax()) {
      throw reader.exceeded(
          Limit.TOPIC_LENGTH, ReasonCode.TOPIC_NAME_INVALID, what + " has " + length + " bytes", limits.packets().topicLengthMax());
    }
    int levels = levels(in, from, length);
    if (levels < 0) {
      throw reader.error(ReasonCode.TOPIC_NAME_INVALID, what + " with wildcards: " + reader.quoted(from, length));
    }
    if (levels > limits.packets().topicLevelsMax()) {
      throw reader.exceeded(
          Limit.TOPIC_LEVELS, ReasonCode.TOPIC_NAME_INVALID, what + " has " + levels + " levels", limits.packets().topicLevelsMax());
    }
    if (in.getByte(from) == '$' && (startsWith(in, from, length, SHARE) || startsWith(in, from, length, ORDERED_SHARE))) {
      throw reader.error(
          ReasonCode.TOPIC_NAME_INVALID, what + " of a shared subscription: " + reader.quoted(from, length));
    }
  }

  /**
   * Checks a topic name that does not come from a packet, by the same rules.
   *
   * @throws MalformedPacketException if it is invalid; the message says why
   */
  public static void check(String topic, DecoderLimits limits) {
    PacketReader reader = textOf(topic, "topic name", limits);
    check(reader, reader.index(), "topic name");
  }

  /**
   * Checks the characters of a topic filter that does not come from a packet, by the same rules.
   *
   * @throws MalformedPacketException if it is invalid; the message says why
   */
  public static void checkCharacters(String filter, DecoderLimits limits) {
    var _ = textOf(filter, "topic filter", limits);
  }

  /** A reader positioned behind the text. */
  private static PacketReader textOf(String text, String what, DecoderLimits limits) {
    PacketReader reader = new PacketReader(limits);
    ByteBuf bytes;
    try {
      bytes = Unpooled.wrappedBuffer(StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text)));
    } catch (CharacterCodingException e) {
      throw reader.malformed(what + " contains an unpaired surrogate");
    }
    int length = bytes.readableBytes();
    if (length == 0) throw reader.malformed("empty " + what);
    String violation = Utf8.violation(bytes, 0, length, limits.refuseControlCharacters());
    if (violation != null) throw reader.malformed(what + " contains " + violation);
    reader.reset(bytes, length, length, null);
    return reader;
  }

  /** Whether a topic name or filter begins with the first level of a shared subscription's filter. */
  static boolean isShared(String filter) {
    return filter.startsWith("$share/") || filter.startsWith("$oshare/");
  }

  /** The number of levels of the text, or -1 if it contains a wildcard. */
  static int levels(ByteBuf in, int from, int length) {
    int levels = 1;
    int end = from + length;
    int i = from;
    for (; end - i >= 8; i += 8) {
      long word = in.getLong(i);
      if ((equal(word, '+') | equal(word, '#')) != 0) return -1;
      levels += Long.bitCount(equal(word, '/'));
    }
    for (; i < end; i++) {
      byte b = in.getByte(i);
      if (b == '+' || b == '#') return -1;
      if (b == '/') levels++;
    }
    return levels;
  }

  /** The top bit of each byte that equals the character. */
  private static long equal(long word, char character) {
    long difference = word ^ (character * ONES);
    return ~(((difference & SEVEN) + SEVEN) | difference | SEVEN);
  }

  private static boolean startsWith(ByteBuf in, int from, int length, byte[] level) {
    if (length < level.length || (length > level.length && in.getByte(from + level.length) != '/')) return false;
    for (int i = 0; i < level.length; i++) if (in.getByte(from + i) != level[i]) return false;
    return true;
  }
}
