package dunlin.transport.lane;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads the fields of a frame in the order in which {@link FrameWriter} has written them. */
public final class FrameReader {
  private final byte[] bytes;
  private int at;

  public FrameReader(byte[] frame) {
    bytes = frame;
  }

  public boolean hasMore() {
    return at < bytes.length;
  }

  /** Consumes the next number if it is this one. */
  boolean takes(int number) throws MalformedFrameException {
    int before = at;
    if (number() == number) return true;
    at = before;
    return false;
  }

  public int octet() throws MalformedFrameException {
    if (at == bytes.length) throw new MalformedFrameException("a frame of " + bytes.length + " bytes ends too early");
    return Byte.toUnsignedInt(bytes[at++]);
  }

  public long number() throws MalformedFrameException {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int next = octet();
      value |= (long) (next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    throw new MalformedFrameException("a number of more than ten bytes");
  }

  /** A number from 0 to a maximum. */
  public int count(int max) throws MalformedFrameException {
    long value = number();
    if (value < 0 || value > max) throw new MalformedFrameException("%s where %d is the most".formatted(Long.toUnsignedString(value), max));
    return (int) value;
  }

  /** How many elements follow, each of at least one byte. */
  public int countWithin() throws MalformedFrameException {
    return count(bytes.length - at);
  }

  public long signed() throws MalformedFrameException {
    long value = number();
    return value >>> 1 ^ -(value & 1);
  }

  public String text() throws MalformedFrameException {
    int length = length();
    String text = new String(bytes, at, length, StandardCharsets.UTF_8);
    at += length;
    return text;
  }

  /** A length that fits into the rest of the frame. */
  private int length() throws MalformedFrameException {
    int length = count(Integer.MAX_VALUE);
    if (length > bytes.length - at) throw new MalformedFrameException("%d bytes where %d are left".formatted(length, bytes.length - at));
    return length;
  }

  public byte[] bytes() throws MalformedFrameException {
    int length = length();
    byte[] value = Arrays.copyOfRange(bytes, at, at + length);
    at += length;
    return value;
  }
}
