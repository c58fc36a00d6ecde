package dunlin.store;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

/** Reads what {@link FieldWriter} wrote; every length is checked before it is used. */
public final class FieldReader {
  private final ByteBuffer in;

  private FieldReader(ByteBuffer in) {
    this.in = in;
  }

  /**
   * Reads fields up to the buffer's limit.
   *
   * @throws IllegalStateException when they are not what was expected, or something follows them
   */
  public static <T> T read(ByteBuffer in, Function<FieldReader, T> fields) {
    T value;
    try {
      value = fields.apply(new FieldReader(in));
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IllegalStateException("damaged fields in " + in, e);
    }
    if (in.hasRemaining()) throw new IllegalStateException(in.remaining() + " bytes behind the last field");
    return value;
  }

  public static <T> T read(byte[] bytes, Function<FieldReader, T> fields) {
    return read(ByteBuffer.wrap(bytes), fields);
  }

  public int octet() {
    return Byte.toUnsignedInt(in.get());
  }

  public boolean flag() {
    int value = octet();
    if (value > 1) throw new IllegalStateException("flag " + value);
    return value == 1;
  }

  public long number() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int octet = octet();
      value |= (long) (octet & 0x7F) << shift;
      if (octet < 0x80) return value;
    }
    throw new IllegalStateException("number of more than ten bytes");
  }

  /** A number that is a non-negative int. */
  public int count() {
    long value = number();
    if (value < 0 || value > Integer.MAX_VALUE) throw new IllegalStateException("count " + value);
    return (int) value;
  }

  public UUID uuid() {
    return new UUID(in.getLong(), in.getLong());
  }

  public String text() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }

  public byte[] bytes() {
    byte[] bytes = new byte[countWithin()];
    in.get(bytes);
    return bytes;
  }

  public <T> List<T> list(Function<FieldReader, T> element) {
    int count = countWithin();
    var list = new ArrayList<T>(count);
    for (int i = 0; i < count; i++) list.add(element.apply(this));
    return list;
  }

  /** Checks the byte that a command or row begins with. */
  public void format(int known, String what) {
    int format = octet();
    if (format != known) throw new IllegalStateException(what + " of format " + format + ", known is " + known);
  }

  /** How many elements follow, each of at least one byte. */
  public int countWithin() {
    int count = count();
    if (count > in.remaining()) throw new IllegalStateException(count + " in " + in.remaining() + " bytes");
    return count;
  }

  /** Numbers as {@link FieldWriter#numbers} packs them. */
  public long[] numbers() {
    long[] values = new long[countWithin()];
    long previous = 0;
    for (int i = 0; i < values.length; i++) {
      long step = number();
      previous += step >>> 1 ^ -(step & 1);
      values[i] = previous;
    }
    return values;
  }

  /** A value that knows its own end. */
  public <T> T value(Function<ByteBuffer, T> readFrom) {
    return readFrom.apply(in);
  }

  /** All remaining bytes. */
  public byte[] rest() {
    byte[] rest = new byte[in.remaining()];
    in.get(rest);
    return rest;
  }

  public void skipRest() {
    in.position(in.limit());
  }
}
