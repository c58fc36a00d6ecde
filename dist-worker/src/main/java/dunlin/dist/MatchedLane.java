package dunlin.dist;

import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import org.jspecify.annotations.Nullable;

/** A lane of messages whose routes in other ranges are known. */
@FunctionalInterface
interface MatchedLane {
  /** As {@link dunlin.transport.Lane#append}. */
  void append(Publication message, Elsewhere elsewhere, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);
}
