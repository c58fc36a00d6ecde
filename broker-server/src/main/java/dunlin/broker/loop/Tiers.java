package dunlin.broker.loop;

import dunlin.dist.DistClient;
import dunlin.inbox.InboxClient;
import dunlin.retain.RetainClient;
import java.util.function.BooleanSupplier;

/**
 * The tiers that a frontend calls.
 *
 * @param alone whether there is no other frontend with clients of the same broker
 * @param leased whether the frontend may have clients. Asked for all that is read from a client, so it must be quick; any thread
 */
public record Tiers(DistClient dist, RetainClient retain, InboxClient inbox, boolean alone, BooleanSupplier leased) {
  /** Of a frontend that needs no lease. */
  public Tiers(DistClient dist, RetainClient retain, InboxClient inbox, boolean alone) {
    this(dist, retain, inbox, alone, () -> true);
  }
}
