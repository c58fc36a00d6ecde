package dunlin.tiers;

import dunlin.broker.users.AccessChange;
import dunlin.broker.users.AccessClient;
import dunlin.broker.users.AccessPage;
import dunlin.broker.users.AccessResult;
import dunlin.store.Replica;
import java.util.concurrent.CompletableFuture;

/**
 * The users, roles and bans of a leader, which are read only while no other node can lead them: a copy that had followed a later leader would go back to what an earlier one
 * knows.
 */
final class LeasedAccess implements AccessClient {
  private final AccessClient server;
  private final Replica<?, ?> rows;

  /** @param rows this node's replica of the range */
  LeasedAccess(AccessClient server, Replica<?, ?> rows) {
    this.server = server;
    this.rows = rows;
  }

  @Override
  public CompletableFuture<AccessResult> change(AccessChange change) {
    return server.change(change);
  }

  @Override
  public CompletableFuture<AccessPage> changes(long base, long since) {
    return rows.readBarrier().thenCompose(_ -> server.changes(base, since));
  }
}
