package dunlin.dist;

import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the messages of one lane to a destination of the fan-out: the shards of one kind on one node. Implemented by
 * the tiers that deliver, or by a transport to them.
 *
 * <p>It is served by one thread at a time: the lane's, or another one as {@link DeliveryThreads} decides. In one process
 * that is always the lane's.
 */
public interface Delivery {
  /**
   * Delivers a message to the matched routes. Called on the serving thread, in the lane's order. Never blocks.
   *
   * @param routes the matched routes; may be empty when the message has an {@linkplain Publication#exchange() exchange}
   *     that this destination must record. Valid only during the call
   * @param feedback called for the publisher while the message waits for a group; null for none
   * @param acknowledgement already expects this destination's answer, which must be given exactly once, now or later;
   *     null for none, as mostly with QoS 0. The destination that records an exchange answers once it is recorded, in
   *     the order of the messages; the others get the message only then
   */
  void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);

  /**
   * How many messages the members of a group's route can take now: 0 for none, 1 for only keeping it until they can,
   * more is better. Read for every message of the group on the lane's thread, also while another thread serves this
   * delivery; an estimate that may be stale.
   */
  int groupCredit(Route route);

  /** Called on the serving thread when another delivery has replaced this one, which is not called any more. */
  default void close() {}
}
