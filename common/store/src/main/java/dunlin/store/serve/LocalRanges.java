package dunlin.store.serve;

import java.util.Optional;
import java.util.UUID;

/** The ranges of which this node has a replica, as the store service hands requests of other nodes to them. */
public interface LocalRanges {
  /** Called on an event loop for each frame of requests: quick, and never blocks. */
  Optional<LocalRange> find(UUID range);
}
