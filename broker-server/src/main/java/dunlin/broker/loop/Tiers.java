package dunlin.broker.loop;

import dunlin.dist.DistClient;
import dunlin.inbox.InboxClient;
import dunlin.retain.RetainClient;

/** The tiers that a frontend calls. */
public record Tiers(DistClient dist, RetainClient retain, InboxClient inbox) {}
