package dunlin.load.client;

/** Something that goes on on one event loop until it is done. */
interface Task {
  /** Called each millisecond; answers whether it is done. */
  boolean advance(long nowNanos);

  /** Ends it early. */
  default void stop() {}
}
