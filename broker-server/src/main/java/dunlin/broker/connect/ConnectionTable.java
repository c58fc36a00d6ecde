package dunlin.broker.connect;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The connections of one event loop by their numbers, so that other tiers can name them. */
final class ConnectionTable {
  /*
   * Owner: the event loop.
   * A connection knows its number, so the table only has references. It uses open addressing: a lookup searches from
   * the slot of a number to the next empty one; after a removal, the following entries move up.
   * Bounds: 6 to 12 bytes for each connection, for the highest number of connections so far.
   */
  private static final int CAPACITY_MIN = 16;

  private @Nullable Connection[] slots = new @Nullable Connection[CAPACITY_MIN];
  private int size;
  private long opened;

  /**
   * A number that this loop has not given out before; it is unique in the frontend, because it encodes the loop's
   * index.
   */
  long nextNumber(int loop, int loopCount) {
    return ++opened * loopCount + loop;
  }

  /** The last number that was given out; with the same parameters. */
  long lastNumber(int loop, int loopCount) {
    return opened * loopCount + loop;
  }

  /** Adds a connection; its number must be set. */
  void add(Connection connection) {
    if ((size + 1) * 3L > slots.length * 2L) grow();
    size++;
    place(connection);
  }

  private void grow() {
    @Nullable Connection[] before = slots;
    slots = new @Nullable Connection[before.length * 2];
    for (Connection each : before) if (each != null) place(each);
  }

  private void place(Connection connection) {
    int slot = slotOf(connection.number());
    while (slots[slot] != null) slot = next(slot);
    slots[slot] = connection;
  }

  /**
   * Spreads the ascending numbers; otherwise connections that are opened one after the other would fill adjacent slots.
   */
  private int slotOf(long number) {
    return (int) ((number * 0x9E37_79B9_7F4A_7C15L) >>> 40) & (slots.length - 1);
  }

  private int next(int slot) {
    return (slot + 1) & (slots.length - 1);
  }

  @Nullable Connection get(long number) {
    for (int slot = slotOf(number); ; slot = next(slot)) {
      Connection there = slots[slot];
      if (there == null || there.number() == number) return there;
    }
  }

  void remove(long number) {
    int hole = slotOf(number);
    for (Connection there = slots[hole]; ; there = slots[hole]) {
      if (there == null) return;
      if (there.number() == number) break;
      hole = next(hole);
    }
    size--;
    slots[hole] = null;
    for (int slot = next(hole); ; slot = next(slot)) {
      Connection there = slots[slot];
      if (there == null) return;
      slots[slot] = null;
      place(there);
    }
  }

  int size() {
    return size;
  }

  /** Up to {@code most} connections that can be sent a DISCONNECT. */
  List<Connection> live(int most) {
    List<Connection> live = new ArrayList<>(Math.min(most, size));
    for (Connection each : slots) {
      if (live.size() == most) break;
      if (each != null && each.live()) live.add(each);
    }
    return live;
  }

  /** Up to {@code most} connections that have or open a session of a range, with numbers up to {@code lastNumber}. */
  List<Connection> opened(int most, int range, long lastNumber) {
    List<Connection> opened = new ArrayList<>(Math.min(most, size));
    for (Connection each : slots) {
      if (opened.size() == most) break;
      if (each != null && each.number() <= lastNumber && each.open() && each.range() == range) opened.add(each);
    }
    return opened;
  }

  /** All connections, with gaps. */
  @Nullable Connection[] copy() {
    return slots.clone();
  }

  List<Connection> all() {
    List<Connection> all = new ArrayList<>(size);
    for (Connection each : slots) if (each != null) all.add(each);
    return all;
  }
}
