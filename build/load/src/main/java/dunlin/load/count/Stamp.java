package dunlin.load.count;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * The 16 bytes that make a message countable: its run, stream, sequence number and intended time.
 *
 * <pre>
 *   byte 0        0xFF, or 0xFE in a will; no text begins with these bytes
 *   bytes 1-2     run
 *   bytes 3-5     stream: one publisher and one of the topics that it publishes to
 *   bytes 6-10    sequence number within the stream
 *   bytes 11-15   when the message was due: the lower 40 bits of the microseconds since 1970, which wrap around after 12 days
 * </pre>
 *
 * <p>In a text payload the stamp is written as {@code dunlin:} and 32 hexadecimal digits.
 */
public final class Stamp {
  public static final int BYTES = 16;
  public static final int TEXT_BYTES = 7 + 2 * BYTES;
  public static final int STREAMS_MAX = 1 << 24;

  private static final int MARK = 0xFF;
  private static final int WILL_MARK = 0xFE;
  private static final long LOW_40 = (1L << 40) - 1;
  private static final byte[] TEXT_MARK = "dunlin:".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  /** The part of a text that is searched for a stamp. */
  private static final int TEXT_SEARCH_BYTES_MAX = 1_024;

  /** The kind of a payload. */
  public enum Kind {
    MESSAGE,
    WILL,
    FOREIGN
  }

  private Kind kind = Kind.FOREIGN;
  private int run;
  private int stream;
  private long sequence;
  private long micros;

  public static void write(ByteBuf out, int run, int stream, long sequence, long micros) {
    out.writeByte(MARK).writeShort(run).writeMedium(stream);
    write40(out, sequence);
    write40(out, micros);
  }

  /** Writes a stamp as text. */
  public static void writeText(ByteBuf out, int run, int stream, long sequence, long micros) {
    out.writeBytes(TEXT_MARK);
    hex(out, MARK, 2);
    hex(out, run, 4);
    hex(out, stream, 6);
    hex(out, sequence, 10);
    hex(out, micros, 10);
  }

  /** A will's payload: it has no sequence, since it is published once at most. */
  public static byte[] will(int run) {
    byte[] payload = new byte[BYTES];
    payload[0] = (byte) WILL_MARK;
    payload[1] = (byte) (run >> 8);
    payload[2] = (byte) run;
    return payload;
  }

  /** Reads the stamp of a payload into this object. */
  public Kind read(ByteBuf in, int index, int length) {
    kind = Kind.FOREIGN;
    if (length < BYTES) return kind;
    int mark = in.getUnsignedByte(index);
    if (mark == MARK || mark == WILL_MARK) {
      kind = mark == MARK ? Kind.MESSAGE : Kind.WILL;
      run = in.getUnsignedShort(index + 1);
      stream = in.getUnsignedMedium(index + 3);
      sequence = read40(in, index + 6);
      micros = read40(in, index + 11);
    } else {
      readText(in, index, length);
    }
    return kind;
  }

  private void readText(ByteBuf in, int index, int length) {
    int last = index + Math.min(length, TEXT_SEARCH_BYTES_MAX) - TEXT_BYTES;
    for (int at = index; at <= last; at++) {
      if (!isMark(in, at)) continue;
      int digits = at + TEXT_MARK.length;
      long head = unhex(in, digits, 12);
      long number = unhex(in, digits + 12, 10);
      long time = unhex(in, digits + 22, 10);
      if (head < 0 || number < 0 || time < 0 || head >>> 40 != MARK) return;
      kind = Kind.MESSAGE;
      run = (int) (head >>> 24) & 0xFFFF;
      stream = (int) head & 0xFFFFFF;
      sequence = number;
      micros = time;
      return;
    }
  }

  private static boolean isMark(ByteBuf in, int at) {
    for (int i = 0; i < TEXT_MARK.length; i++) {
      if (in.getByte(at + i) != TEXT_MARK[i]) return false;
    }
    return true;
  }

  public int run() {
    return run;
  }

  public int stream() {
    return stream;
  }

  /** Identifies a stream over all runs. */
  public long key() {
    return ((long) run << 24) | stream;
  }

  public long sequence() {
    return sequence;
  }

  /** The time since the message was due. Negative when the clocks of two machines differ by more than that. */
  public long ageMicros(long nowMicros) {
    long age = (nowMicros - micros) & LOW_40;
    return age > LOW_40 >> 1 ? age - LOW_40 - 1 : age;
  }

  private static void write40(ByteBuf out, long value) {
    out.writeByte((int) (value >>> 32)).writeInt((int) value);
  }

  private static long read40(ByteBuf in, int index) {
    return ((long) in.getUnsignedByte(index) << 32) | in.getUnsignedInt(index + 1);
  }

  private static void hex(ByteBuf out, long value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.writeByte(HEX[(int) (value >>> shift) & 15]);
  }

  private static long unhex(ByteBuf in, int index, int digits) {
    long value = 0;
    for (int i = 0; i < digits; i++) {
      int digit = Character.digit(in.getByte(index + i), 16);
      if (digit < 0) return -1;
      value = value << 4 | digit;
    }
    return value;
  }
}
