package dunlin.inbox;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.concurrent.CompletableFuture;

/** Where the session tier announces which topic filters its shards want; the dist tier, connected by the node. */
public interface InboxRoutes {
  /** Completes when every publish accepted from then on reaches the shard; at once when it was announced before. */
  CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter);

  CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter);
}
