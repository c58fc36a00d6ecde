package dunlin.transport.lane;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What a stream of frames says once in full and then by number: the sender's and the receiver's side of one table. A value has the place that its
 * hash says, and takes it from the one before. So both sides know the same without a word about it, in bounded memory.
 *
 * @param <T> what is named; with {@code equals} and {@code hashCode}
 */
public final class Slots<T> {
  /*
   * Owner: the lane's thread.
   * Bounds: PLACES values. Two that are in use at a time and have the same place are said in full each time.
   */
  static final int PLACES = 4_096;

  private final @Nullable Object[] values = new @Nullable Object[PLACES];

  /** How a value is read. */
  @FunctionalInterface
  public interface Reader<T> {
    T read(FrameReader in) throws MalformedFrameException;
  }

  /** Writes a value: its place, and itself when the receiver does not have it there. */
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
