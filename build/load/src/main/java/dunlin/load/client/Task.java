package dunlin.load.client;

/** Work on one event loop that continues until it is done. */
interface Task {
  /** Called each millisecond or more often; returns whether it is done. */
  boolean advance(long nowNanos);

  /** The longest useful wait until the next call. */
  default long waitNanos(long nowNanos) {
    return Loop.TICK_NANOS;
  }

  /** Stops it early. */
  default void stop() {}
}
