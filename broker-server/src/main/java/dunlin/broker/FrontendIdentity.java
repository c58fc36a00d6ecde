package dunlin.broker;

import dunlin.model.ShardId;

/**
 * Which frontend this is, for the other tiers.
 *
 * @param nodeId names it as a shard; stays the same as long as its node keeps its data directory
 * @param incarnation rises with each start: routes and connections of an earlier one are void
 */
public record FrontendIdentity(String nodeId, long incarnation) {
  public ShardId shard() {
    return ShardId.frontend(nodeId);
  }
}
