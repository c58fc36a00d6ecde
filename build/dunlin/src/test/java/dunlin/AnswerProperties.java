package dunlin;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The properties of a server's answer of MQTT 5 by their identifiers: numbers as Long, texts as String. */
final class AnswerProperties {
  static final int RESPONSE_INFORMATION = 0x1A;
  static final int SERVER_REFERENCE = 0x1C;
  static final int REASON_STRING = 0x1F;

  private final Map<Integer, Object> values = new HashMap<>();

  private AnswerProperties(ByteBuffer rest) {
    while (rest.hasRemaining()) {
      int id = rest.get();
      Object value =
          switch (id) {
            case 0x24, 0x25, 0x28, 0x29, 0x2A -> (long) rest.get();
            case 0x13, 0x21, 0x22 -> (long) (rest.getShort() & 0xFFFF);
            case 0x11, 0x27 -> rest.getInt() & 0xFFFF_FFFFL;
            case 0x12, 0x15, RESPONSE_INFORMATION, SERVER_REFERENCE, REASON_STRING -> text(rest);
            default -> throw new AssertionError("property " + id);
          };
      if (values.put(id, value) != null) throw new AssertionError("twice: property " + id);
    }
  }

  private static String text(ByteBuffer rest) {
    byte[] bytes = new byte[rest.getShort() & 0xFFFF];
    rest.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Of CONNACK, PUBACK, PUBREC, SUBACK, UNSUBACK or DISCONNECT. */
  static AnswerProperties of(RawClient.Packet packet) {
    int first = packet.first();
    int before = first == RawClient.DISCONNECT ? 1 : first == RawClient.PUBACK || first == RawClient.PUBREC ? 3 : 2;
    ByteBuffer rest = ByteBuffer.wrap(packet.body());
    if (rest.remaining() <= before) return new AnswerProperties(ByteBuffer.allocate(0));
    rest.position(before);
    int length = 0;
    for (int shift = 0; ; shift += 7) {
      int b = rest.get();
      length |= (b & 0x7F) << shift;
      if (b >= 0) break;
    }
    return new AnswerProperties(rest.slice(rest.position(), length));
  }

  Map<Integer, Object> all() {
    return values;
  }

  @Nullable String reasonString() {
    return (String) values.get(REASON_STRING);
  }

  @Nullable String serverReference() {
    return (String) values.get(SERVER_REFERENCE);
  }
}
