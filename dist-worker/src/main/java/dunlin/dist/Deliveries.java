package dunlin.dist;

import java.util.concurrent.Executor;

/** A destination of the fan-out. It opens a {@link Delivery} for each lane. */
@FunctionalInterface
public interface Deliveries {
  /**
   * Opens a lane's delivery; called on the lane's thread, once for each lane.
   *
   * @param lane its number; the destination serves it on its own lane of the same number
   * @param thread runs tasks on the thread that serves the delivery, in the order of each submitting thread
   */
  Delivery open(int lane, Executor thread);

  /** A destination with one delivery that all lanes call directly. */
  static Deliveries of(Delivery delivery) {
    return (_, _) -> delivery;
  }
}
