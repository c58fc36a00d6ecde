package dunlin;

/** What the application has subscribed to. Any thread may call it. */
public interface Subscription extends AutoCloseable {
  /** Messages that were dropped because the listener did not keep up: 10,000 may wait for it, and a sixteenth of the heap for all listeners. */
  long dropped();

  /** Unsubscribes. The listener may be at a message yet; no other comes. */
  @Override
  void close();
}
