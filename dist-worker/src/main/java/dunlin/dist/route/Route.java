package dunlin.dist.route;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/**
 * Declares that a shard needs the messages of a topic filter. There is one per tenant, filter (with its group) and
 * shard, however many sessions of the shard have subscribed.
 *
 * @param incarnation the shard's incarnation that set it; a route of an earlier incarnation is void
 * @param handle the shard's own number for the filter, returned with each message so that the shard need not match
 *     again; 0 for none
 */
public record Route(String tenant, TopicFilter filter, ShardId shard, long incarnation, int handle) {}
