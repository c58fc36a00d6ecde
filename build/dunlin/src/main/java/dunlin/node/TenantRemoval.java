package dunlin.node;

import dunlin.admin.peers.AllNodesMXBean;
import dunlin.admin.peers.AllNodesMXBean.ClientPage;
import dunlin.admin.peers.PeerBeans;
import dunlin.broker.tenant.TenantsBean;
import dunlin.broker.users.AccessReplica;
import dunlin.cluster.ClusterMXBean;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.NodeBeans;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Deletes what tenants have whose records say that they are being deleted, and then these records. */
final class TenantRemoval implements AutoCloseable {
  /*
   * Owner: look() is called by the housekeeping thread; a thread of its own, one at a time, does what takes longer, under the lock.
   * Bounds: TENANTS_A_LOOK tenants; of each STEP sessions, retained messages and users.
   * Failure: each step can be repeated, and the record says what is to be done, so whichever node leads the range of records goes on with it. Two nodes that do it
   *   for a moment delete the same. What fails is logged and done by the next look.
   * End: a record is deleted when LOOKS looks in a row have found nothing, and each node that clients may be connected to has said that it has none of the tenant.
   *   Wills of clients that were disconnected may have been retained in between.
   */
  private static final Logger log = LoggerFactory.getLogger(TenantRemoval.class);
  private static final int TENANTS_A_LOOK = 16;
  private static final int STEP = 1_000;
  private static final int LOOKS = 3;
  private static final int CLOSE_SECONDS = 10;

  private final TenantsBean records;
  private final PeerBeans peers;
  private final NodeBeans beans;
  private final ReentrantLock working = new ReentrantLock();

  /** By tenant: looks in a row that have found nothing. Under the lock. */
  private final Map<String, Integer> nothing = new HashMap<>();

  private volatile boolean closed;

  TenantRemoval(TenantsBean records, PeerBeans peers, NodeBeans beans) {
    this.records = records;
    this.peers = peers;
    this.beans = beans;
  }

  /** Looks whether there is something to delete. Quick; throws nothing. */
  void look() {
    List<String> due = records.deleting(TENANTS_A_LOOK);
    if (due.isEmpty() || working.isLocked()) return;
    Thread.ofPlatform().daemon().name("dunlin-tenant-removal").start(() -> work(due));
  }

  private void work(List<String> due) {
    if (!working.tryLock()) return;
    try {
      nothing.keySet().retainAll(due);
      for (String tenant : due) if (!closed) remove(tenant);
    } finally {
      working.unlock();
    }
  }

  /** Whether it is for this node to do, as of the last heartbeat. */
  private boolean leads() {
    return beans
        .find(ClusterMXBean.class)
        .map(cluster -> cluster.getRanges().stream().anyMatch(range -> range.kind().equals(AccessReplica.KIND) && range.leader().equals(cluster.getNode())))
        .orElse(true);
  }

  private void remove(String tenant) {
    try {
      if (!leads()) return;
      int deleted = records.deleteUsers(tenant, STEP) + sessions().delete(tenant, "", STEP) + retained().delete(tenant, "", STEP);
      if (deleted > 0 || mayHaveClients(tenant)) {
        nothing.remove(tenant);
        return;
      }
      int looks = nothing.getOrDefault(tenant, 0) + 1;
      nothing.put(tenant, looks);
      if (looks < LOOKS) return;
      records.deleteRecord(tenant);
      nothing.remove(tenant);
      log.info("The tenant \"{}\" is deleted with all that it had", tenant);
    } catch (NoSuchElementException elsewhere) {
      log.debug("The record of the tenant \"{}\" is deleted already", tenant, elsewhere);
    } catch (RuntimeException e) {
      nothing.remove(tenant);
      log.info("What the tenant \"{}\" has could not be deleted yet, and is tried again: {}", tenant, e.getMessage());
    }
  }

  private boolean mayHaveClients(String tenant) {
    ClientPage clients = beans.find(AllNodesMXBean.class).orElseThrow().clients(tenant, "", "", "", "", 1);
    return !clients.clients().isEmpty() || !clients.unanswered().isEmpty();
  }

  private SessionsMXBean sessions() {
    return peers.sessions().orElseThrow(() -> new IllegalStateException("the sessions are not led here"));
  }

  private RetainedMessagesMXBean retained() {
    return led(RetainedMessagesMXBean.class, RetainReplica.KIND, "The retained messages");
  }

  private <T> T led(Class<T> shape, String kind, String what) {
    return peers.led(shape, kind, what).orElseThrow(() -> new IllegalStateException(what + " are not led here"));
  }

  @Override
  public void close() {
    closed = true;
    try {
      if (working.tryLock(CLOSE_SECONDS, TimeUnit.SECONDS)) working.unlock();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
