package dunlin.dist;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/**
 * Says that a shard wants the messages of a topic filter. There is one per tenant, filter (with its group) and shard,
 * however many sessions behind the shard have subscribed.
 *
 * @param incarnation which life of the shard set it; a route of an earlier life is void
 * @param handle the shard's own number for the filter, handed back with each message so that the shard need not match
 *     again; 0 when the shard uses none
 */
public record Route(String tenant, TopicFilter filter, ShardId shard, long incarnation, int handle) {}
