package dunlin.broker.loop;

import dunlin.dist.DistClient;
import dunlin.inbox.InboxClient;
import dunlin.retain.RetainClient;

/**
 * The tiers that a frontend calls.
 *
 * @param alone whether there is no other frontend with clients of the same broker
 */
public record Tiers(DistClient dist, RetainClient retain, InboxClient inbox, boolean alone) {}
