package dunlin.inbox;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Where the session tier announces which topic filters its shards want; the dist tier, connected by the node. */
public interface InboxRoutes {
  /** Completes when every publish accepted from then on reaches the shard; at once when it was announced before. Fails with {@link QuotaExceededException} when there is no room for one more. */
  CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter);

  CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter);

  /**
   * What has been announced and not removed, in all lives of the session tier, in pages of a few hundred at most.
   *
   * @param from where the page begins, as the page before says; null for the first one
   */
  CompletableFuture<Page> announced(byte @Nullable [] from);

  /** That a shard wants the messages of a topic filter. */
  record Announced(ShardId shard, String tenant, TopicFilter filter) {}

  /**
   * Some of what has been announced.
   *
   * @param next where the next page begins, or null when this is the last one
   */
  record Page(List<Announced> routes, byte @Nullable [] next) {
    // Written out, since of a compact constructor no other module learns that the second one may be null.
    public Page(List<Announced> routes, byte @Nullable [] next) {
      this.routes = List.copyOf(routes);
      this.next = next;
    }
  }
}
