package dunlin.store.remote;

import dunlin.store.serve.RangeLocation;
import java.util.Optional;
import java.util.UUID;

/**
 * The known locations of ranges. Called on the client's own thread, for every request: it answers from memory, and asks
 * other nodes on threads of its own.
 */
public interface RangeMap {
  Optional<RangeLocation> find(UUID range);

  /** A node has answered with a newer location than {@link #find} returned. */
  void learned(RangeLocation now);

  /** The location that {@link #find} returned does not work, or there is none: time to ask again. Called often while that lasts. */
  void doubted(UUID range);
}
