package dunlin.inbox;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Where the session tier registers the topic filters of its shards. The dist tier implements it; the node connects the
 * two.
 */
public interface InboxRoutes {
  /**
   * Completes when every publish accepted from then on reaches the shard; at once if the route was announced before.
   * Fails with {@link QuotaExceededException} if a bound on routes is reached.
   */
  CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter);

  CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter);

  /** Makes several of these calls on this thread, which then may cost less. */
  default void together(Runnable calls) {
    calls.run();
  }

  /**
   * Lists the routes that were announced and not removed, also those from before a restart of the session tier, in
   * pages of at most a few hundred.
   *
   * @param from where the page begins, as the previous page says; null for the first page
   */
  CompletableFuture<Page> announced(byte @Nullable [] from);

  /** A route: a shard gets the messages that match a topic filter. */
  record Announced(ShardId shard, String tenant, TopicFilter filter) {}

  /**
   * A page of announced routes.
   *
   * @param next where the next page begins, or null for the last page
   */
  record Page(List<Announced> routes, byte @Nullable [] next) {
    // Not a compact constructor: with one, NullAway does not see in other modules that the second parameter may be
    // null.
    public Page(List<Announced> routes, byte @Nullable [] next) {
      this.routes = List.copyOf(routes);
      this.next = next;
    }
  }
}
