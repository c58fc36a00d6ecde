package dunlin.store.remote;

import dunlin.store.serve.RangeLocation;
import java.util.Optional;
import java.util.UUID;

/**
 * What this process knows of where ranges are. Called on the client's own thread, for every request: it answers from
 * memory, and asks others on threads of its own.
 */
public interface RangeMap {
  Optional<RangeLocation> find(UUID range);

  /** A node has answered that its range is now so, which is newer than what {@link #find} gave. */
  void learned(RangeLocation now);

  /** What {@link #find} gives leads nowhere, or gives nothing: time to ask again. Called often while that lasts. */
  void doubted(UUID range);
}
