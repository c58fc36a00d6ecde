package dunlin.store;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Writes the fields of commands and rows into a buffer; without a buffer it only counts their bytes. */
public final class FieldWriter {
  private final @Nullable ByteBuffer out;
  private int length;

  public FieldWriter(@Nullable ByteBuffer out) {
    this.out = out;
  }

  /** Bytes that these fields take. */
  public static int lengthOf(Consumer<FieldWriter> fields) {
    var counter = new FieldWriter(null);
    fields.accept(counter);
    return counter.length;
  }

  public static byte[] bytesOf(Consumer<FieldWriter> fields) {
    byte[] bytes = new byte[lengthOf(fields)];
    fields.accept(new FieldWriter(ByteBuffer.wrap(bytes)));
    return bytes;
  }

  public void octet(int value) {
    length++;
    if (out != null) out.put((byte) value);
  }

  public void flag(boolean value) {
    octet(value ? 1 : 0);
  }

  /** Seven bits a byte, the lowest first; a negative number takes ten bytes. */
  public void number(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      octet((int) (rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    octet((int) rest);
  }

  public void uuid(UUID value) {
    length += 16;
    if (out != null) out.putLong(value.getMostSignificantBits()).putLong(value.getLeastSignificantBits());
  }

  public void text(String value) {
    bytes(value.getBytes(StandardCharsets.UTF_8));
  }

  public void bytes(byte[] value) {
    number(value.length);
    raw(value);
  }

  /** Bytes without their length in front. */
  public void raw(byte[] value) {
    length += value.length;
    if (out != null) out.put(value);
  }

  /** A value that writes itself, and is as long as it says. */
  public <T> void value(T value, int encodedLength, BiConsumer<T, ByteBuffer> writeTo) {
    length += encodedLength;
    if (out != null) writeTo.accept(value, out);
  }

  /** Writes numbers as differences: ascending numbers that are close together take one byte each. Any order is allowed and kept. */
  public void numbers(long[] values) {
    number(values.length);
    long previous = 0;
    for (long value : values) {
      long step = value - previous;
      number(step << 1 ^ step >> 63);
      previous = value;
    }
  }

  public <T> void list(List<T> values, BiConsumer<FieldWriter, T> element) {
    number(values.size());
    for (T value : values) element.accept(this, value);
  }
}
