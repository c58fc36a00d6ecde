package dunlin.dist.deliver;

import dunlin.dist.MatchedRoutes;
import dunlin.model.Publication;
import org.jspecify.annotations.Nullable;

/**
 * A message on its way to one destination's worker.
 *
 * @param routes an immutable copy
 * @param size its bytes; 0 for a further copy of a message, which is the same object
 * @param answer null when the publisher waits for nothing
 */
record MessageCopy(DestinationDelivery to, Publication message, MatchedRoutes routes, int size, @Nullable CopyAnswer answer) {}
