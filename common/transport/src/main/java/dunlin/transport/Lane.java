package dunlin.transport;

import dunlin.model.Publication;
import org.jspecify.annotations.Nullable;

/**
 * One ordered sequence of messages towards the dist tier. What one thread appends arrives in that order.
 *
 * <p>A lane belongs to one thread, which alone may append.
 */
public interface Lane {
  /**
   * Hands a message to the dist tier. Never blocks.
   *
   * @param feedback called while the message waits for a group; null when the publisher cannot be held up for that
   * @param acknowledgement told about each destination's answer, and {@linkplain Acknowledgement#markMatched marked} when
   *     anybody wants the message; null for QoS 0. The lane expects the answers that it adds.
   */
  void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);
}
