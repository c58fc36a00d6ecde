package dunlin.transport.lane;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary of the values on a stream of frames: a value is written once in full and then by number. Sender and
 * receiver have the same table. A value's place follows from its hash, and it replaces the previous value there. So
 * both sides agree without further data, in bounded memory.
 *
 * @param <T> the type of the values; with {@code equals} and {@code hashCode}
 */
public final class ValueDictionary<T> {
  /*
   * Owner: the lane's thread.
   * Bounds: PLACES values. Two that are in use at the same time and have the same place are written in full each time.
   */
  static final int PLACES = 4_096;

  private final @Nullable Object[] values = new @Nullable Object[PLACES];

  /** Reads a value. */
  @FunctionalInterface
  public interface Reader<T> {
    T read(FrameReader in) throws MalformedFrameException;
  }

  /** Writes a value: its place, and the value itself when the receiver does not have it. */
  public void write(FrameWriter out, T value, BiConsumer<FrameWriter, T> inFull) {
    int hash = value.hashCode();
    int place = (hash ^ hash >>> 16) & (PLACES - 1);
    boolean known = value.equals(values[place]);
    out.number((long) place << 1 | (known ? 0 : 1));
    if (known) return;
    values[place] = value;
    inFull.accept(out, value);
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
