package dunlin.load.client;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A client's unacknowledged publishes of QoS 1 and 2. */
final class PublishWindow {
  /*
   * Owner: the client's event loop.
   * Bounds: the pool's inflight window. A packet identifier is the number of its slot, plus 1. Full: take() answers 0.
   */
  private final int max;

  private @Nullable Stream[] streams = {};
  private long[] sequences = {};
  private long[] intended = {};
  private long[] sentNanos = {};
  private byte[] states = {};
  private int[] free = {};
  private int freeCount;
  private int used;

  static final byte FREE = 0;
  static final byte PUBLISHED = 1;
  static final byte RELEASED = 2;
  private static final byte TIMED_OUT = 4; // a flag

  PublishWindow(int max) {
    this.max = max;
  }

  int used() {
    return used;
  }

  /** Adds a message and returns its packet identifier. The caller has checked that there is room. */
  int take(Stream stream, long sequence, long intendedMicros, long nowNanos) {
    if (freeCount == 0) grow();
    int slot = free[--freeCount];
    streams[slot] = stream;
    sequences[slot] = sequence;
    intended[slot] = intendedMicros;
    sentNanos[slot] = nowNanos;
    states[slot] = PUBLISHED;
    used++;
    return slot + 1;
  }

  private void grow() {
    int before = states.length;
    assert before < max : "the window is full";
    int size = Math.min(max, Math.max(4, 2 * before));
    streams = Arrays.copyOf(streams, size);
    sequences = Arrays.copyOf(sequences, size);
    intended = Arrays.copyOf(intended, size);
    sentNanos = Arrays.copyOf(sentNanos, size);
    states = Arrays.copyOf(states, size);
    free = Arrays.copyOf(free, size);
    for (int slot = size - 1; slot >= before; slot--) free[freeCount++] = slot;
  }

  /** The state of a message without its flag; FREE for an unused packet identifier. */
  byte state(int packetId) {
    return packetId < 1 || packetId > states.length ? FREE : (byte) (states[packetId - 1] & ~TIMED_OUT);
  }

  Stream stream(int packetId) {
    Stream stream = streams[packetId - 1];
    assert stream != null : "not in use: " + packetId;
    return stream;
  }

  long sequence(int packetId) {
    return sequences[packetId - 1];
  }

  long intended(int packetId) {
    return intended[packetId - 1];
  }

  void release(int packetId) {
    states[packetId - 1] = (byte) ((states[packetId - 1] & TIMED_OUT) | RELEASED);
  }

  void free(int packetId) {
    int slot = packetId - 1;
    streams[slot] = null;
    states[slot] = FREE;
    free[freeCount++] = slot;
    used--;
  }

  int slots() {
    return states.length;
  }

  /** Marks the messages that have timed out since the last call, and returns their number. */
  int timeOut(long nowNanos, long timeoutNanos) {
    if (used == 0) return 0;
    int count = 0;
    for (int slot = 0; slot < states.length; slot++) {
      if (states[slot] == FREE || (states[slot] & TIMED_OUT) != 0 || nowNanos - sentNanos[slot] < timeoutNanos) continue;
      states[slot] |= TIMED_OUT;
      count++;
    }
    return count;
  }

  /** Packet identifiers in use, in the order in which their messages were sent. */
  int[] inOrder() {
    return java.util.stream.IntStream.rangeClosed(1, states.length)
        .filter(id -> state(id) != FREE)
        .boxed()
        .sorted((one, other) -> Long.compare(sentNanos[one - 1], sentNanos[other - 1]))
        .mapToInt(Integer::intValue)
        .toArray();
  }
}
