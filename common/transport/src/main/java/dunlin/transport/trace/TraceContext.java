package dunlin.transport.trace;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The place of a message in distributed traces: what its publisher says in the User Property {@code traceparent} (W3C Trace Context, section 3.2), or numbers that
 * follow from the message itself, so that each node finds the same.
 *
 * @param high the upper half of the trace id
 * @param low the lower half
 * @param parent the span of the publisher; 0 for none
 * @param span the span of the message's way through the broker, of which all others are children
 * @param sampled whether the publisher samples it; only with a parent
 */
record TraceContext(long high, long low, long parent, long span, boolean sampled) {
  private static final int USER_PROPERTY = 0x26;
  private static final byte[] NAME = "traceparent".getBytes(StandardCharsets.US_ASCII);

  /** version-traceid-parentid-flags of version 00: 2, 32, 16 and 2 hexadecimal digits. */
  private static final int VALUE_LENGTH = 55;

  private static final int TRACE_AT = 3;
  private static final int PARENT_AT = 36;
  private static final int FLAGS_AT = 53;
  private static final int SAMPLED = 1;

  /** Bytes of a payload that distinguish messages; the length does as well. */
  private static final int PAYLOAD_PART = 64;

  /** What the publisher says; null when it says nothing that can be read. */
  static @Nullable TraceContext said(Publication message) {
    int at = value(message);
    if (at < 0) return null;
    byte[] body = message.body();
    long high = hex(body, at + TRACE_AT, 16);
    long low = hex(body, at + TRACE_AT + 16, 16);
    long parent = hex(body, at + PARENT_AT, 16);
    long flags = hex(body, at + FLAGS_AT, 2);
    if ((high == 0 && low == 0) || parent == 0) return null;
    return new TraceContext(high, low, parent, spanOf(message), (flags & SAMPLED) != 0);
  }

  /** One that follows from the message. */
  static TraceContext derived(Publication message) {
    long one = hash(message, 0x9E3779B97F4A7C15L);
    long other = hash(message, 0xC2B2AE3D27D4EB4FL);
    return new TraceContext(one, other == 0 ? 1 : other, 0, spanOf(message), true);
  }

  private static long spanOf(Publication message) {
    long span = hash(message, 0x165667B19E3779F9L);
    return span == 0 ? 1 : span;
  }

  /** A number that is the same on each node that has the message, and on each of its ways. */
  static long hash(Publication message) {
    return hash(message, 0xD6E8FEB86659FD93L);
  }

  private static long hash(Publication message, long seed) {
    Publisher publisher = message.publisher();
    long hash = mixed(seed ^ message.acceptedAtMillis());
    hash = mixed(hash ^ publisher.tenant().hashCode());
    hash = mixed(hash ^ publisher.clientId().hashCode());
    hash = mixed(hash ^ message.payloadLength());
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) hash = hash * 31 + body[i];
    int payload = message.payloadOffset();
    for (int i = 0; i < Math.min(PAYLOAD_PART, message.payloadLength()); i++) hash = hash * 31 + body[payload + i];
    return mixed(hash);
  }

  private static long mixed(long value) {
    long mixed = (value ^ (value >>> 32)) * 0x9FB21C651E98DF25L;
    return mixed ^ (mixed >>> 28);
  }

  /** Where in the body the value of the first such property begins that can be read; -1 for none. */
  private static int value(Publication message) {
    byte[] body = message.body();
    int end = message.payloadOffset();
    int length = 1 + 2 + NAME.length + 2 + VALUE_LENGTH;
    for (int at = message.topicLength(); at + length <= end; at++) {
      if (body[at] == USER_PROPERTY && isNamed(body, at + 1) && isValue(body, at + 3 + NAME.length)) return at + 5 + NAME.length;
    }
    return -1;
  }

  private static boolean isNamed(byte[] body, int at) {
    if (body[at] != 0 || body[at + 1] != NAME.length) return false;
    for (int i = 0; i < NAME.length; i++) if (body[at + 2 + i] != NAME[i]) return false;
    return true;
  }

  private static boolean isValue(byte[] body, int at) {
    if (body[at] != 0 || body[at + 1] != VALUE_LENGTH) return false;
    int from = at + 2;
    if (body[from] != '0' || body[from + 1] != '0') return false; // another version may have another form
    for (int i = 2; i < VALUE_LENGTH; i++) {
      boolean dash = i == TRACE_AT - 1 || i == PARENT_AT - 1 || i == FLAGS_AT - 1;
      if (dash ? body[from + i] != '-' : digit(body[from + i]) < 0) return false;
    }
    return true;
  }

  /** Digits are in lower case. */
  private static int digit(byte character) {
    if (character >= '0' && character <= '9') return character - '0';
    return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
  }

  private static long hex(byte[] body, int from, int digits) {
    long value = 0;
    for (int i = 0; i < digits; i++) value = value << 4 | digit(body[from + i]);
    return value;
  }
}
