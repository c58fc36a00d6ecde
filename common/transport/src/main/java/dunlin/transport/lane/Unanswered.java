package dunlin.transport.lane;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one link that are not answered, by their numbers, which begin with 1.
 *
 * @param <A> what accompanies each message
 */
final class Unanswered<A> {
  /*
   * Most answers come nearly in order. So a ring has the messages: from the first unanswered one that it has to the last one, with gaps. One that waits for a group or
   * a slow disk, while thousands pass it, would make it grow without end. So when the ring is full, and has few messages in its older half, these straggle: they move to a
   * map. When the ring is as large as it may be and they are many, the oldest of them do.
   *
   * Owner: the lane's thread.
   * Bounds: a ring of placesMax. The stream bounds the messages; numbers have no bound.
   */
  private static final int PLACES_MIN = 64;

  /** A ring with fewer places grows first. */
  private static final int PLACES_FEW = 1_024;

  private static final int PLACES_MAX = 1 << 20;

  /** Few are one in so many places; and of many as many move at once, so that the lane does not stand still. */
  private static final int ONE_IN = 64;

  private final int placesFew;
  private final int placesMax;
  private @Nullable Pending<A>[] ring;

  /** Those before {@code base}, in their order. */
  private final LinkedHashMap<Long, Pending<A>> stragglers = new LinkedHashMap<>(0);

  /** The numbers of the first message in the ring, and of the next one. */
  private long base = 1;

  private long next = 1;
  private int size;

  Unanswered() {
    this(PLACES_MIN, PLACES_FEW, PLACES_MAX);
  }

  /** Each a power of 2, for tests. */
  Unanswered(int placesMin, int placesFew, int placesMax) {
    this.placesFew = placesFew;
    this.placesMax = placesMax;
    ring = ring(placesMin);
  }

  @SuppressWarnings("unchecked") // an array of a generic type
  private @Nullable Pending<A>[] ring(int places) {
    return (@Nullable Pending<A>[]) new @Nullable Pending<?>[places];
  }

  /** How many there are. */
  int size() {
    return size;
  }

  /** The number of the next message. */
  long next() {
    return next;
  }

  /** Places of the ring. */
  int places() {
    return ring.length;
  }

  /** Messages beside the ring. */
  int straggling() {
    return stragglers.size();
  }

  void add(Pending<A> message) {
    if (next - base == ring.length) makeRoom();
    ring[(int) next++ & ring.length - 1] = message;
    size++;
  }

  private void makeRoom() {
    long middle = base + ring.length / 2;
    if (ring.length >= placesFew && count(middle) <= ring.length / ONE_IN) moveOut(middle);
    else if (ring.length < placesMax) grow();
    else moveOut(base + Math.max(1, ring.length / ONE_IN));
  }

  private int count(long to) {
    int count = 0;
    for (long number = base; number < to; number++) if (ring[(int) number & ring.length - 1] != null) count++;
    return count;
  }

  private void grow() {
    @Nullable Pending<A>[] larger = ring(ring.length * 2);
    for (long number = base; number < next; number++) larger[(int) number & larger.length - 1] = ring[(int) number & ring.length - 1];
    ring = larger;
  }

  private void moveOut(long to) {
    for (; base < to; base++) {
      int place = (int) base & ring.length - 1;
      Pending<A> message = ring[place];
      if (message == null) continue;
      stragglers.put(base, message);
      ring[place] = null;
    }
    skipAnswered();
  }

  private void skipAnswered() {
    while (base < next && ring[(int) base & ring.length - 1] == null) base++;
  }

  /** The message with this number; null when it is answered, or was never sent. */
  @Nullable Pending<A> get(long number) {
    if (number >= base) return number < next ? ring[(int) number & ring.length - 1] : null;
    return stragglers.isEmpty() ? null : stragglers.get(number);
  }

  /** The message with this number, which there must be, is answered. */
  void remove(long number) {
    size--;
    if (number >= base) {
      ring[(int) number & ring.length - 1] = null;
      skipAnswered();
    } else {
      stragglers.remove(number);
    }
  }

  /** The first of them; there must be one. */
  Pending<A> oldest() {
    return stragglers.isEmpty() ? Objects.requireNonNull(ring[(int) base & ring.length - 1]) : stragglers.values().iterator().next();
  }

  /** All of them, in their order. */
  List<Pending<A>> all() {
    var all = new ArrayList<Pending<A>>(size);
    all.addAll(stragglers.values());
    for (long number = base; number < next; number++) {
      Pending<A> message = ring[(int) number & ring.length - 1];
      if (message != null) all.add(message);
    }
    return all;
  }
}
