package dunlin.dist;

import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import org.jspecify.annotations.Nullable;

/** A lane of messages whose routes in other ranges are known. */
@FunctionalInterface
interface MatchedLane {
  /** As {@link dunlin.transport.Lane#append}. A lane that keeps the routes of other ranges after it has returned says so to their {@linkplain Elsewhere#memory memory}. */
  void append(Publication message, Elsewhere elsewhere, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement);
}
