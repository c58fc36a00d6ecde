package dunlin.transport;

import dunlin.model.Publication;
import org.jspecify.annotations.Nullable;

/**
 * An ordered sequence of messages to the dist tier.
 *
 * <p>A lane belongs to one thread, the only one that may append.
 */
public interface Lane {
  /**
   * Passes a message to the dist tier. Never blocks.
   *
   * @param feedback called while the message waits for a group; null when the publisher cannot be held back for that
   * @param acknowledgement gets each destination's answer, and is {@linkplain Acknowledgement#markMatched marked} when
   *     there is a subscriber; null for QoS 0. The lane expects the answers that it adds.
   */
  void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);
}
