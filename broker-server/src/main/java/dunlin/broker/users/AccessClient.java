package dunlin.broker.users;

import java.util.concurrent.CompletableFuture;

/** The range, as it is asked and changed. Any thread may call it, and no call blocks. */
public interface AccessClient {
  /** Changes a row. Fails with a {@link dunlin.store.StoreException} when the range cannot take it. */
  CompletableFuture<AccessResult> change(AccessChange change);

  /**
   * What has changed.
   *
   * @param base of the last answer; 0 for the first question
   * @param since {@code upTo} of the last answer; 0 for the first question
   */
  CompletableFuture<AccessPage> changes(long base, long since);
}
