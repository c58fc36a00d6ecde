package dunlin.load.client;

/** Something that goes on on one event loop until it is done. */
interface Task {
  /** Called each millisecond or more often; answers whether it is done. */
  boolean advance(long nowNanos);

  /** How long it can wait for the next call, unless something else happens. */
  default long waitNanos(long nowNanos) {
    return Loop.TICK_NANOS;
  }

  /** Ends it early. */
  default void stop() {}
}
