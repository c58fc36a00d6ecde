package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Writes the fields of commands and rows into a buffer; without a buffer it only counts their bytes. */
final class FieldWriter {
  private final @Nullable ByteBuffer out;
  private int length;

  FieldWriter(@Nullable ByteBuffer out) {
    this.out = out;
  }

  /** Bytes that these fields take. */
  static int lengthOf(Consumer<FieldWriter> fields) {
    var counter = new FieldWriter(null);
    fields.accept(counter);
    return counter.length;
  }

  static byte[] bytesOf(Consumer<FieldWriter> fields) {
    byte[] bytes = new byte[lengthOf(fields)];
    fields.accept(new FieldWriter(ByteBuffer.wrap(bytes)));
    return bytes;
  }

  void octet(int value) {
    length++;
    if (out != null) out.put((byte) value);
  }

  void flag(boolean value) {
    octet(value ? 1 : 0);
  }

  /** Seven bits a byte, the lowest first; a negative number takes ten bytes. */
  void number(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      octet((int) (rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    octet((int) rest);
  }

  void text(String value) {
    bytes(value.getBytes(StandardCharsets.UTF_8));
  }

  void bytes(byte[] value) {
    number(value.length);
    raw(value, 0, value.length);
  }

  /** Bytes without their length in front. */
  void raw(byte[] value, int offset, int count) {
    length += count;
    if (out != null) out.put(value, offset, count);
  }

  void publication(Publication value) {
    length += value.encodedLength();
    if (out != null) value.writeTo(out);
  }

  void filter(TopicFilter value) {
    text(value.text());
  }

  void options(SubscriptionOptions value) {
    octet(
        value.maximumQoS().code()
            | (value.noLocal() ? 0x04 : 0)
            | (value.retainAsPublished() ? 0x08 : 0)
            | value.retainHandling() << 4);
    number(value.subscriptionIdentifier());
  }

  void session(SessionRef value) {
    text(value.tenant());
    text(value.clientId());
    number(value.epoch());
  }

  void connection(ConnectionId value) {
    text(value.frontend());
    number(value.incarnation());
    number(value.number());
  }

  /** Ascending numbers take a byte each when they are close together; any order is kept. */
  void numbers(long[] values) {
    number(values.length);
    long previous = 0;
    for (long value : values) {
      long step = value - previous;
      number(step << 1 ^ step >> 63);
      previous = value;
    }
  }
}
