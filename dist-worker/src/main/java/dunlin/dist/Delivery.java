package dunlin.dist;

import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import org.jspecify.annotations.Nullable;

/**
 * How one lane reaches a destination of the fan-out: the shards of one kind on one node. Implemented by the tiers that deliver, or by what
 * carries messages to them.
 */
public interface Delivery {
  /**
   * Takes a message for the matched routes. Called on the lane's thread, in the lane's order. Never blocks.
   *
   * @param routes what matched; may be empty when the message came with an {@linkplain Publication#exchange() exchange}
   *     that this destination must record. Valid only during the call
   * @param feedback of the publisher, told while the message waits for a group; null for none
   * @param acknowledgement already expecting this destination's answer, which must be given exactly once,
   *     now or later; null for none, as mostly with QoS 0. The one that records an exchange answers when that is done, in the
   *     order in which the messages were handed over; only then the others get the message
   */
  void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);

  /**
   * How much the members of a group's route can take at the moment: 0 for nothing, 1 for keeping it until they can, more is
   * better. Read on every message of the group on the lane's thread; an estimate, which may be stale.
   */
  int groupCredit(Route route);

  /** The lane has another way to this destination now, and calls this one no more. On the lane's thread. */
  default void close() {}
}
