package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Reads what {@link FieldWriter} wrote; every length is checked before it is believed. */
final class FieldReader {
  private final ByteBuffer in;

  private FieldReader(ByteBuffer in) {
    this.in = in;
  }

  /**
   * Reads fields up to the buffer's limit.
   *
   * @throws IllegalStateException when they are not what was expected, or something follows them
   */
  static <T> T read(ByteBuffer in, Function<FieldReader, T> fields) {
    T value;
    try {
      value = fields.apply(new FieldReader(in));
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IllegalStateException("damaged fields in " + in, e);
    }
    if (in.hasRemaining()) throw new IllegalStateException(in.remaining() + " bytes behind the last field");
    return value;
  }

  static <T> T read(byte[] bytes, Function<FieldReader, T> fields) {
    return read(ByteBuffer.wrap(bytes), fields);
  }

  int octet() {
    return Byte.toUnsignedInt(in.get());
  }

  boolean flag() {
    int value = octet();
    if (value > 1) throw new IllegalStateException("flag " + value);
    return value == 1;
  }

  long number() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int octet = octet();
      value |= (long) (octet & 0x7F) << shift;
      if (octet < 0x80) return value;
    }
    throw new IllegalStateException("number of more than ten bytes");
  }

  /** A number that is an int and not negative. */
  int count() {
    long value = number();
    if (value < 0 || value > Integer.MAX_VALUE) throw new IllegalStateException("count " + value);
    return (int) value;
  }

  String text() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }

  byte[] bytes() {
    byte[] bytes = new byte[countWithin()];
    in.get(bytes);
    return bytes;
  }

  /** How many elements follow, each of at least one byte. */
  int countWithin() {
    int count = count();
    if (count > in.remaining()) throw new IllegalStateException(count + " in " + in.remaining() + " bytes");
    return count;
  }

  Publication publication() {
    return Publication.readFrom(in);
  }

  TopicFilter filter() {
    String text = text();
    return TopicFilter.parse(text).orElseThrow(() -> new IllegalStateException("not a topic filter: " + text));
  }

  SubscriptionOptions options() {
    int octet = octet();
    if (octet > 0x3F) throw new IllegalStateException("subscription options " + octet);
    return new SubscriptionOptions(
        QoS.of(octet & 0x03), (octet & 0x04) != 0, (octet & 0x08) != 0, octet >> 4, count())
        .shared();
  }

  SessionRef session() {
    return new SessionRef(text(), text(), number());
  }

  ConnectionId connection() {
    return new ConnectionId(text(), number(), number());
  }

  long[] numbers() {
    long[] values = new long[countWithin()];
    long previous = 0;
    for (int i = 0; i < values.length; i++) {
      long step = number();
      previous += step >>> 1 ^ -(step & 1);
      values[i] = previous;
    }
    return values;
  }

  <T> List<T> list(Function<FieldReader, T> element) {
    int count = countWithin();
    var list = new ArrayList<T>(count);
    for (int i = 0; i < count; i++) list.add(element.apply(this));
    return list;
  }

  /** How many bytes were read so far, counted from the buffer's start. */
  int position() {
    return in.position();
  }

  void skipRest() {
    in.position(in.limit());
  }
}
