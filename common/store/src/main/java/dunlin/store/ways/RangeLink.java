package dunlin.store.ways;

import java.util.concurrent.CompletableFuture;

/** A link to whichever node leads a range. */
public interface RangeLink extends AutoCloseable {
  /** Begins it; calls may be made from then on. Completes when a leader has taken it for the first time. Once. */
  CompletableFuture<Void> begin();

  /** Whether the leader has taken the present link. Any thread. */
  boolean isReached();

  /** Ends it; what is not answered fails. */
  @Override
  void close();
}
