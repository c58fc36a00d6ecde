package dunlin.broker.limit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Handles what waits in {@link FairLines}, some elements at a time, on virtual threads that end when nothing waits. */
public final class Askers<T> {
  /*
   * Owner: any thread begins.
   * Bounds: max threads, each with one element at a time.
   * Failure: a handler that throws ends its thread; the next element goes on with another one.
   */
  private final String threadName;
  private final int max;
  private final FairLines<T> lines;
  private final Consumer<T> handler;
  private final AtomicInteger running = new AtomicInteger();

  /**
   * @param threadName the name of each thread
   * @param max how many threads there are at most
   * @param handler handles an element; it may block
   */
  public Askers(String threadName, int max, FairLines<T> lines, Consumer<T> handler) {
    this.threadName = threadName;
    this.max = max;
    this.lines = lines;
    this.handler = handler;
  }

  /** Must be called after each element that was added to the lines. */
  public void begin() {
    for (int before = running.get(); before < max && lines.size() > 0; before = running.get()) {
      if (!running.compareAndSet(before, before + 1)) continue;
      Thread.ofVirtual().name(threadName).start(this::handleAll);
      return;
    }
  }

  private void handleAll() {
    try {
      for (T next = lines.poll(); next != null; next = lines.poll()) handler.accept(next);
    } finally {
      running.decrementAndGet();
      begin(); // for an element that came when this one had already seen that nothing waits
    }
  }
}
