package dunlin.transport.lane;

import java.util.function.BiConsumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary of the values on a stream of frames: a value is written once in full and then by number. Sender and
 * receiver have the same table. A value's place follows from its hash and its length, and it replaces the previous value
 * there. The sender chooses the place and the receiver obeys, so both agree without further data, in bounded memory.
 *
 * @param <T> the type of the values; with {@code equals} and {@code hashCode}
 */
public final class ValueDictionary<T> {
  /*
   * Clients choose the lengths of most values. So one of up to SHORT characters may have any place, one of up to twice as many a
   * place of the lower half, and so on: the longest ones of 64 KiB share 8 places.
   *
   * Owner: the lane's thread.
   * Bounds: PLACES values. Those of one length have PLACES * SHORT characters at most, 512 Ki; those of all lengths
   * together six times as many. Two that are in use at the same time and have the same place are written in full each time.
   */
  static final int PLACES = 4_096;
  static final int SHORT = 128;

  private final @Nullable Object[] values = new @Nullable Object[PLACES];
  private final ToIntFunction<T> length;

  /** Reads a value. */
  @FunctionalInterface
  public interface Reader<T> {
    T read(FrameReader in) throws MalformedFrameException;
  }

  /** @param length the characters that a value holds, about */
  public ValueDictionary(ToIntFunction<T> length) {
    this.length = length;
  }

  /** Writes a value: its place, and the value itself when the receiver does not have it. */
  public void write(FrameWriter out, T value, BiConsumer<FrameWriter, T> inFull) {
    int hash = value.hashCode();
    int place = (hash ^ hash >>> 16) & (places(length.applyAsInt(value)) - 1);
    boolean known = value.equals(values[place]);
    out.number((long) place << 1 | (known ? 0 : 1));
    if (known) return;
    values[place] = value;
    inFull.accept(out, value);
  }

  /** How many places a value may have: a power of two. */
  static int places(int length) {
    int halvings = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(0, length - 1) / SHORT);
    return Math.max(1, PLACES >> halvings);
  }

  /** The characters of all values that are held. */
  @SuppressWarnings("unchecked") // only read() and write() fill it
  long length() {
    long sum = 0;
    for (Object value : values) if (value != null) sum += length.applyAsInt((T) value);
    return sum;
  }

  public T read(FrameReader in, Reader<T> inFull) throws MalformedFrameException {
    int number = in.count(PLACES << 1 | 1);
    int place = number >>> 1;
    if (place >= PLACES) throw new MalformedFrameException("place " + place + " of " + PLACES);
    if ((number & 1) != 0) {
      T value = inFull.read(in);
      values[place] = value;
      return value;
    }
    @SuppressWarnings("unchecked") // only read() and write() fill it
    T value = (T) values[place];
    if (value == null) throw new MalformedFrameException("place " + place + " is empty");
    return value;
  }
}
