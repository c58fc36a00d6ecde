package dunlin.store.serve;

import java.util.Optional;
import java.util.UUID;

/** The ranges with a replica on this node, as the store service looks them up. */
public interface LocalRanges {
  /** Called on an event loop for each frame of requests: quick, and never blocks. */
  Optional<LocalRange> find(UUID range);
}
