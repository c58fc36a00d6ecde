package dunlin.dist;

import java.util.concurrent.Executor;

/** A destination of the fan-out, as the node's composition attaches it: opens the way of each lane to it. */
@FunctionalInterface
public interface Deliveries {
  /**
   * Opens the way of a lane, whose thread calls this, once for each lane.
   *
   * @param lane its number; the destination serves it on the lane of the same number
   * @param thread runs tasks on the lane's thread, in the order in which one thread hands them over
   */
  Delivery open(int lane, Executor thread);

  /** One that all lanes call themselves. */
  static Deliveries of(Delivery delivery) {
    return (_, _) -> delivery;
  }
}
