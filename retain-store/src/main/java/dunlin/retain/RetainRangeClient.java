package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One range of retained messages of a cluster. A caller names the epoch at which it knows the range; when the range has another one, nothing is done and
 * the call fails with a {@code WrongEpochException}. Other failures are {@code StoreException}s. Never blocks.
 */
public interface RetainRangeClient {
  /** {@link RetainClient#set} for a topic of this range. Fails only when the range has another epoch, or the outcome is not known. */
  CompletableFuture<ReasonCode> set(long epoch, Publication message);

  /** {@link RetainClient#add} for a topic of this range. Fails as {@link #set}. */
  CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message);

  /** {@link RetainClient#find} for a page that begins in this range. The cursor of its last page leads to the next range. */
  CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax);

  /**
   * Lists the keys of this range that begin with a prefix.
   *
   * @param from the lowest key to be listed, in this range
   * @param max the most rows, from 1; fewer when their keys are long
   */
  CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max);

  /** What the range has now, at any epoch. */
  CompletableFuture<Sums> sums();

  /**
   * What tenants have in this range now, at any epoch.
   *
   * @param tenants at most {@code WantedTenants.TENANTS_MAX}
   * @return for each, in their order
   */
  CompletableFuture<List<Held>> held(List<String> tenants);

  /** @param bytes of the row; 0 for one that has been removed since */
  record Row(byte[] key, int bytes) {}

  /** @param next where the next listing begins, perhaps in the next range; null when there are no more keys with the prefix */
  record Listing(List<Row> rows, byte @Nullable [] next) {}

  /**
   * What a tenant has, or may have.
   *
   * @param messages topics with a message
   * @param bytes of topics and messages, as {@link Sums} counts them
   */
  record Held(long messages, long bytes) {
    public static final Held NONE = new Held(0, 0);

    public Held plus(Held other) {
      return new Held(messages + other.messages, bytes + other.bytes);
    }
  }

  /** The contents that {@link RetainBounds} limits. */
  record Sums(long messages, long topicBytes, long bytes) {
    public static final Sums NONE = new Sums(0, 0, 0);

    public Sums plus(Sums other) {
      return new Sums(messages + other.messages, topicBytes + other.topicBytes, bytes + other.bytes);
    }
  }
}
