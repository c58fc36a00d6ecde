package dunlin.transport.lane;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes the fields of frames; {@link FrameReader} reads them. Its array grows on demand and is kept between frames. */
public final class FrameWriter {
  private static final int KEPT_MAX = 256 * 1_024;

  private byte[] bytes = new byte[256];
  private int size;

  /** Bytes written and not taken. */
  public int size() {
    return size;
  }

  public FrameWriter octet(int value) {
    room(1);
    bytes[size++] = (byte) value;
    return this;
  }

  /** An unsigned number: seven bits a byte, the lowest first. */
  public FrameWriter number(long value) {
    room(10);
    long left = value;
    while ((left & ~0x7FL) != 0) {
      bytes[size++] = (byte) (left | 0x80);
      left >>>= 7;
    }
    bytes[size++] = (byte) left;
    return this;
  }

  /** A number that is usually small and may be negative. */
  public FrameWriter signed(long value) {
    return number(value << 1 ^ value >> 63);
  }

  public FrameWriter text(String value) {
    return bytes(value.getBytes(StandardCharsets.UTF_8));
  }

  /** Bytes with their length in front. */
  public FrameWriter bytes(byte[] value) {
    number(value.length);
    room(value.length);
    System.arraycopy(value, 0, bytes, size, value.length);
    size += value.length;
    return this;
  }

  private void room(int more) {
    if (bytes.length - size < more) bytes = Arrays.copyOf(bytes, Math.max(size + more, bytes.length * 2));
  }

  /** Returns the frame and begins the next one. */
  public byte[] take() {
    byte[] frame = Arrays.copyOf(bytes, size);
    size = 0;
    if (bytes.length > KEPT_MAX) bytes = new byte[256];
    return frame;
  }
}
