package dunlin.transport.lane;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * How a lane sends again, over its next link, what was not answered on the last one.
 *
 * @param stream the lane, in the {@linkplain dunlin.transport.Terms.Origin origins} of its messages; random
 * @param patience how long after it came a message may be sent again, or wait for a link
 * @param nanoTime a clock as {@link System#nanoTime}
 * @param later a timer of the lane's thread
 */
public record Repeating(long stream, Duration patience, LongSupplier nanoTime, Later later) {
  /** Runs tasks on the lane's thread after some time. */
  @FunctionalInterface
  public interface Later {
    void run(Runnable task, long millis);
  }

  /** When the patience with a message that comes now ends, on the clock. Any thread. */
  public long deadline() {
    return nanoTime.getAsLong() + patience.toNanos();
  }
}
