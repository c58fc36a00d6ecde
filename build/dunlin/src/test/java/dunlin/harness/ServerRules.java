package dunlin.harness;

import static dunlin.harness.PacketBytes.AUTH;
import static dunlin.harness.PacketBytes.CONNACK;
import static dunlin.harness.PacketBytes.CONNECT;
import static dunlin.harness.PacketBytes.DISCONNECT;
import static dunlin.harness.PacketBytes.PINGRESP;
import static dunlin.harness.PacketBytes.PUBACK;
import static dunlin.harness.PacketBytes.PUBCOMP;
import static dunlin.harness.PacketBytes.PUBLISH;
import static dunlin.harness.PacketBytes.PUBREC;
import static dunlin.harness.PacketBytes.PUBREL;
import static dunlin.harness.PacketBytes.SUBACK;
import static dunlin.harness.PacketBytes.UNSUBACK;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks the packets that a server sends on one connection: an {@link AssertionError} at the first that breaks a rule
 * of the version in the client's CONNECT; MQTT 5, sections 2 and 3.
 *
 * <p>It knows the CONNECT, and so whether an identifier had to be assigned, how large a packet may be, and so on.
 */
public final class ServerRules {
  private static final int PROBLEM_INFORMATION = 0x17;
  private static final int RESPONSE_INFORMATION_WANTED = 0x19;
  private static final int AUTHENTICATION_METHOD = 0x15;
  private static final int RECEIVE_MAXIMUM = 0x21;
  private static final int TOPIC_ALIAS_MAXIMUM = 0x22;
  private static final int MAXIMUM_PACKET_SIZE = 0x27;

  /** The properties that a server's packet of each type may have: MQTT 5, table 2-4. */
  private static final Map<Integer, Set<Integer>> ALLOWED =
      Map.of(
          CONNACK,
          Set.of(0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A),
          PUBLISH, Set.of(0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26),
          PUBACK, Set.of(0x1F, 0x26),
          PUBREC, Set.of(0x1F, 0x26),
          PUBREL, Set.of(0x1F, 0x26),
          PUBCOMP, Set.of(0x1F, 0x26),
          SUBACK, Set.of(0x1F, 0x26),
          UNSUBACK, Set.of(0x1F, 0x26),
          DISCONNECT, Set.of(0x1C, 0x1F, 0x26),
          AUTH, Set.of(0x15, 0x16, 0x1F, 0x26));

  /** The reason codes that a server's packet of each type may have in MQTT 5. */
  private static final Map<Integer, Set<Integer>> REASONS =
      Map.of(
          CONNACK,
          Set.of(
              0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B,
              0x9C, 0x9D, 0x9F),
          PUBACK, Set.of(0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99),
          PUBREC, Set.of(0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99),
          PUBREL, Set.of(0x00, 0x92),
          PUBCOMP, Set.of(0x00, 0x92),
          SUBACK, Set.of(0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2),
          UNSUBACK, Set.of(0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91),
          DISCONNECT,
          Set.of(
              0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A,
              0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2),
          AUTH, Set.of(0x00, 0x18));

  private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
  private volatile boolean connectSeen;

  /** The version in CONNECT; 4 until it is known, since an unknown version is refused in that form. */
  private volatile int level = 4;

  private boolean cleanStart;
  private boolean identifierGiven = true;
  private final Map<Integer, Long> asked = new HashMap<>();

  private boolean connackSeen;
  private boolean endSeen;
  private final Set<Integer> aliases = new HashSet<>();

  /** The version in the client's CONNECT. */
  public int level() {
    return level;
  }

  // --------------------------------------------------------------------------------------------------------- what the client says

  /** Takes what the client sends, up to the end of its first packet. */
  public void sent(byte[] bytes) {
    if (connectSeen) return;
    sent.writeBytes(bytes);
    ByteBuffer in = ByteBuffer.wrap(sent.toByteArray());
    if (in.get() != CONNECT) {
      connectSeen = true;
      return;
    }
    int length = 0;
    for (int shift = 0; ; shift += 7) {
      if (!in.hasRemaining()) return;
      int b = in.get();
      length |= (b & 0x7F) << shift;
      if (b >= 0 || shift == 21) break;
    }
    if (in.remaining() < length) return;
    connectSeen = true;
    try {
      hearConnect(in.slice(in.position(), length));
    } catch (RuntimeException malformed) {
      // The server cannot have understood more of it either.
    }
  }

  private void hearConnect(ByteBuffer in) {
    skip(in, in.getShort() & 0xFFFF);
    int wanted = in.get() & 0xFF;
    if (wanted < 3 || wanted > 5) return;
    level = wanted;
    cleanStart = (in.get() & 2) != 0;
    in.getShort();
    if (level == 5) {
      int length = varint(in);
      for (Property property : list(in.slice(in.position(), length))) asked.put(property.id(), property.number());
      skip(in, length);
    }
    identifierGiven = in.getShort() != 0;
  }

  private static void skip(ByteBuffer in, int bytes) {
    in.position(in.position() + bytes);
  }

  // --------------------------------------------------------------------------------------------------------- what the server says

  /** A property: one with a number, or one with a text or with binary data read as text; a user property is {@code name=value}. */
  public record Property(int id, long number, String text) {}

  /** Checks a packet of the server, whose remaining length took this many bytes. */
  public void received(int first, int lengthBytes, byte[] body) {
    try {
      judge(first, lengthBytes, body);
    } catch (RuntimeException e) {
      throw new AssertionError(
          "the server sent a packet 0x%02X %s: %s".formatted(first, Arrays.toString(body), e.getMessage()), e);
    }
  }

  private void judge(int first, int lengthBytes, byte[] body) {
    int type = first >> 4 == PUBLISH >> 4 ? PUBLISH : first;
    check(lengthBytes == lengthOf(body.length), "a remaining length in more bytes than it needs");
    check(!endSeen, "something behind DISCONNECT or a refusal [MQTT-3.1.4-5, MQTT-3.14.4-1]");
    long size = asked.getOrDefault(MAXIMUM_PACKET_SIZE, 0L);
    check(size == 0 || 1 + lengthBytes + body.length <= size, "a packet larger than the client takes [MQTT-3.1.2-24]");
    if (type == PUBLISH) {
      check((first & 6) != 6, "QoS 3");
      check((first & 14) != 8, "DUP with QoS 0 [MQTT-3.3.1-2]");
    }
    if (type == CONNACK) {
      check(!connackSeen, "a second CONNACK [MQTT-3.2.0-2]");
      connackSeen = true;
    } else {
      check(connackSeen || type == AUTH, "something before CONNACK [MQTT-3.2.0-1, MQTT-3.14.0-1]");
    }
    ByteBuffer in = ByteBuffer.wrap(body);
    switch (type) {
      case CONNACK -> connack(in);
      case PUBLISH -> publish(first, in);
      case PUBACK, PUBREC, PUBREL, PUBCOMP -> acknowledgement(type, in);
      case SUBACK -> suback(in);
      case UNSUBACK -> unsuback(in);
      case PINGRESP -> {}
      case DISCONNECT -> {
        check(level == 5, "DISCONNECT from a server of MQTT 3");
        endSeen = true;
        reasonAndProperties(type, in);
      }
      case AUTH -> {
        check(level == 5, "AUTH in MQTT 3");
        check(asked.containsKey(AUTHENTICATION_METHOD), "AUTH for a client without a method [MQTT-4.12.0-6]");
        reasonAndProperties(type, in);
      }
      default -> throw new IllegalArgumentException("not what a server sends, or wrong flags [MQTT-2.1.3-1]");
    }
    check(!in.hasRemaining(), in.remaining() + " bytes too many");
  }

  private void connack(ByteBuffer in) {
    int flags = in.get();
    check((flags & ~1) == 0, "reserved flags in CONNACK [MQTT-3.2.2-1]");
    int reason = in.get() & 0xFF;
    endSeen = reason != 0;
    check(flags == 0 || reason == 0, "session present in a refusal [MQTT-3.2.2-6]");
    check(flags == 0 || !cleanStart, "session present after a clean start [MQTT-3.2.2-2]");
    check(flags == 0 || level > 3, "session present in MQTT 3.1, where that byte is reserved");
    if (level < 5) {
      check(reason <= 5, "return code " + reason);
      return;
    }
    checkReason(CONNACK, reason);
    List<Property> properties = properties(CONNACK, in);
    boolean assigned = properties.stream().anyMatch(each -> each.id() == 0x12 && !each.text().isEmpty());
    if (reason == 0) check(assigned == !identifierGiven, "Assigned Client Identifier where none is due, or none [MQTT-3.2.2-16]");
    if (properties.stream().anyMatch(each -> each.id() == 0x1A)) {
      check(asked.getOrDefault(RESPONSE_INFORMATION_WANTED, 0L) == 1, "Response Information that nobody asked for [MQTT-3.1.2-28]");
    }
  }

  private void publish(int first, ByteBuffer in) {
    String topic = text(in);
    if ((first & 6) != 0) packetId(in);
    check(topic.indexOf('+') < 0 && topic.indexOf('#') < 0, "a topic name with a wildcard [MQTT-3.3.2-2]");
    boolean known = !topic.isEmpty();
    if (level == 5) {
      for (Property property : properties(PUBLISH, in)) {
        if (property.id() != 0x23) continue;
        int alias = (int) property.number();
        check(alias <= asked.getOrDefault(TOPIC_ALIAS_MAXIMUM, 0L), "topic alias " + alias + " [MQTT-3.1.2-26, -27]");
        if (known) aliases.add(alias);
        known = aliases.contains(alias);
      }
    }
    check(known, "neither a topic name nor a known alias");
    in.position(in.limit());
  }

  private void acknowledgement(int type, ByteBuffer in) {
    packetId(in);
    if (level == 5) reasonAndProperties(type, in);
  }

  private void suback(ByteBuffer in) {
    packetId(in);
    if (level == 5) properties(SUBACK, in);
    check(in.hasRemaining(), "SUBACK without a code [MQTT-3.9.3-1]");
    while (in.hasRemaining()) {
      int code = in.get() & 0xFF;
      if (level == 5) checkReason(SUBACK, code);
      else check(code <= 2 || (level == 4 && code == 0x80), "return code " + code + " [MQTT-3.9.3-2]");
    }
  }

  private void unsuback(ByteBuffer in) {
    packetId(in);
    if (level < 5) return;
    properties(UNSUBACK, in);
    check(in.hasRemaining(), "UNSUBACK without a code [MQTT-3.11.3-1]");
    while (in.hasRemaining()) checkReason(UNSUBACK, in.get() & 0xFF);
  }

  private void reasonAndProperties(int type, ByteBuffer in) {
    if (!in.hasRemaining()) return;
    checkReason(type, in.get() & 0xFF);
    if (in.hasRemaining()) properties(type, in);
  }

  private static void checkReason(int type, int reason) {
    check(REASONS.getOrDefault(type, Set.of()).contains(reason), "reason code " + reason + ", which it cannot have");
  }

  private List<Property> properties(int type, ByteBuffer in) {
    int length = varint(in);
    check(length <= in.remaining(), "properties past the end");
    List<Property> all = list(in.slice(in.position(), length));
    skip(in, length);
    Set<Integer> seen = new HashSet<>();
    for (Property each : all) {
      check(ALLOWED.getOrDefault(type, Set.of()).contains(each.id()), "property " + each.id());
      boolean repeatable = each.id() == 0x26 || each.id() == 0x0B;
      check(seen.add(each.id()) || repeatable, "property " + each.id() + " twice");
      check(inRange(each), "property " + each.id() + " of value " + each.number());
    }
    boolean mayExplain = type == CONNACK || type == PUBLISH || type == DISCONNECT || asked.getOrDefault(PROBLEM_INFORMATION, 1L) != 0;
    boolean explains = seen.contains(0x1F) || seen.contains(0x26);
    check(mayExplain || !explains, "problem information that the client does not want [MQTT-3.1.2-29]");
    return all;
  }

  private static boolean inRange(Property property) {
    return switch (property.id()) {
      case 0x01, 0x24, 0x25, 0x28, 0x29, 0x2A -> property.number() <= 1;
      case 0x0B, RECEIVE_MAXIMUM, MAXIMUM_PACKET_SIZE, 0x23 -> property.number() > 0;
      default -> true;
    };
  }

  // ------------------------------------------------------------------------------------------------------------------- data types

  /** The properties of a block without its length, in order. */
  public static List<Property> list(ByteBuffer block) {
    List<Property> all = new ArrayList<>();
    while (block.hasRemaining()) all.add(property(block));
    return all;
  }

  private static Property property(ByteBuffer in) {
    int id = in.get();
    return switch (id) {
      case 0x01, PROBLEM_INFORMATION, RESPONSE_INFORMATION_WANTED, 0x24, 0x25, 0x28, 0x29, 0x2A -> new Property(id, in.get() & 0xFF, "");
      case 0x13, RECEIVE_MAXIMUM, TOPIC_ALIAS_MAXIMUM, 0x23 -> new Property(id, in.getShort() & 0xFFFF, "");
      case 0x02, 0x11, 0x18, MAXIMUM_PACKET_SIZE -> new Property(id, in.getInt() & 0xFFFF_FFFFL, "");
      case 0x0B -> new Property(id, varint(in), "");
      case 0x03, 0x08, 0x12, AUTHENTICATION_METHOD, 0x1A, 0x1C, 0x1F -> new Property(id, 0, text(in));
      case 0x09, 0x16 -> new Property(id, 0, new String(binary(in), StandardCharsets.ISO_8859_1));
      case 0x26 -> new Property(id, 0, text(in) + '=' + text(in));
      default -> throw new IllegalArgumentException("unknown property " + id);
    };
  }

  private static void packetId(ByteBuffer in) {
    check(in.getShort() != 0, "packet identifier 0 [MQTT-2.2.1-4]");
  }

  /** A variable byte integer in the fewest possible bytes [MQTT-1.5.5-1]. */
  private static int varint(ByteBuffer in) {
    int value = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      int b = in.get();
      value |= (b & 0x7F) << shift;
      if (b < 0) continue;
      if (shift > 0 && b == 0) throw new IllegalArgumentException("a number in more bytes than it needs");
      return value;
    }
    throw new IllegalArgumentException("a number in more than 4 bytes");
  }

  private static int lengthOf(int value) {
    return value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : 4;
  }

  private static byte[] binary(ByteBuffer in) {
    byte[] bytes = new byte[in.getShort() & 0xFFFF];
    in.get(bytes);
    return bytes;
  }

  /** Well-formed UTF-8 without U+0000 [MQTT-1.5.4-1, -2]. */
  private static String text(ByteBuffer in) {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(binary(in))).toString();
      if (text.indexOf('\0') >= 0) throw new IllegalArgumentException("U+0000 in a text");
      return text;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("a text that is not UTF-8", e);
    }
  }

  private static void check(boolean kept, String otherwise) {
    if (!kept) throw new IllegalArgumentException(otherwise);
  }
}
