package dunlin.broker.connect;

import dunlin.broker.loop.Loop;
import org.jspecify.annotations.Nullable;

/**
 * Detects connections of one event loop that are silent for too long; MQTT 5, section 3.1.2.10.
 *
 * <p>A packet costs one store of the present tick. A connection is checked once per period of allowed silence, and is
 * either closed or linked in again for the rest of its time.
 */
final class KeepAliveWheel {
  /*
   * Owner: the event loop.
   * Bounds: one link for each connection, inside the connection; no object of its own. A connection with a time longer
   * than the wheel's turn is checked once per turn. Closing is at most one tick late.
   */
  static final int TICK_MILLIS = Loop.TICK_MILLIS;
  private static final int SLOTS = 1_024;

  private final @Nullable Watched[] slots = new @Nullable Watched[SLOTS];
  private int now;

  /** A connection that must not be silent for too long. */
  abstract static class Watched {
    private @Nullable Watched next;
    private @Nullable Watched previous;
    private int slot = -1;
    private int heardAt;
    private int silenceMax;

    /** The longest silence that is allowed, in milliseconds, rounded up to ticks; 0 when it is not watched. */
    long silenceMaxMillis() {
      return slot < 0 ? 0 : (silenceMax - 1) * (long) TICK_MILLIS;
    }

    /** Called when the connection was silent for longer than allowed. It is not watched any more. */
    abstract void silent();
  }

  /** The present tick. */
  int now() {
    return now;
  }

  /** Begins to watch a connection; a time of 0 ends it. */
  void watch(Watched watched, long silenceMaxMillis) {
    unlink(watched);
    if (silenceMaxMillis == 0) return;
    watched.silenceMax = (int) Math.min(Integer.MAX_VALUE / 2, (silenceMaxMillis + TICK_MILLIS - 1) / TICK_MILLIS + 1);
    watched.heardAt = now;
    link(watched);
  }

  /** Continues to watch a connection that was silent, with the same time as before. */
  void watchAgain(Watched watched) {
    unlink(watched);
    watched.heardAt = now;
    link(watched);
  }

  void heard(Watched watched) {
    watched.heardAt = now;
  }

  /** Time since a watched connection was heard, in milliseconds; 0 for one that is not watched. */
  long silentMillis(Watched watched) {
    return watched.slot < 0 ? 0 : (now - watched.heardAt) * (long) TICK_MILLIS;
  }

  void forget(Watched watched) {
    unlink(watched);
  }

  void tick() {
    now++;
    int slot = now & (SLOTS - 1);
    Watched watched = slots[slot];
    slots[slot] = null;
    while (watched != null) {
      Watched following = watched.next;
      watched.next = null;
      watched.previous = null;
      watched.slot = -1;
      if (now - watched.heardAt >= watched.silenceMax) {
        watched.silent();
      } else {
        link(watched);
      }
      watched = following;
    }
  }

  private void link(Watched watched) {
    int left = watched.silenceMax - (now - watched.heardAt);
    int slot = (now + Math.clamp(left, 1, SLOTS - 1)) & (SLOTS - 1);
    Watched first = slots[slot];
    watched.next = first;
    watched.previous = null;
    watched.slot = slot;
    if (first != null) first.previous = watched;
    slots[slot] = watched;
  }

  private void unlink(Watched watched) {
    if (watched.slot < 0) return;
    if (watched.previous == null) {
      slots[watched.slot] = watched.next;
    } else {
      watched.previous.next = watched.next;
    }
    if (watched.next != null) watched.next.previous = watched.previous;
    watched.next = null;
    watched.previous = null;
    watched.slot = -1;
  }
}
