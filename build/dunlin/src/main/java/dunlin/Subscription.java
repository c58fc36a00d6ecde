package dunlin;

/** A subscription of the application. Any thread may call it. */
public interface Subscription extends AutoCloseable {
  /**
   * Messages that were dropped because the listener did not keep up: the limit is 10,000 for each listener, and a
   * sixteenth of the heap for all.
   */
  long dropped();

  /** Unsubscribes. The listener may still be processing a message; it gets no other. */
  @Override
  void close();
}
