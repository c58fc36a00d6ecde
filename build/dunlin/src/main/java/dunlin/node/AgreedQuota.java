package dunlin.node;

import dunlin.model.TenantQuota;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A limit of tenants that holds once all nodes of a cluster have said that their replicas can apply what it adds to the log. */
final class AgreedQuota implements TenantQuota {
  /*
   * Owner: any thread asks what a tenant may have. look() is called by the housekeeping thread; a thread of its own, one at a time, asks the other nodes, once a tenant
   *   with a limit was asked about: by a leader, so this node knows the others.
   * Bounds: one such thread. Questions have their deadlines.
   * Failure: as long as a node has not said so, no tenant is limited; the log says why. Nodes that are down are not waited for. What was said is believed until this
   *   node ends: the replica of an earlier version that comes later stops at the first such entry, and says so.
   */
  private static final Logger log = LoggerFactory.getLogger(AgreedQuota.class);

  private final TenantQuota quota;
  private final String name;
  private final Supplier<List<String>> unready;
  private final AtomicBoolean asking = new AtomicBoolean();

  private volatile boolean wanted;
  private volatile boolean agreed; // written by the asking thread

  /** What the log has said last; used by the asking thread. */
  private volatile List<String> told = List.of();

  /**
   * @param name of the limit, for the log
   * @param unready asks the other nodes; a sentence for each that has not said that it can apply that
   */
  AgreedQuota(TenantQuota quota, String name, Supplier<List<String>> unready) {
    this.quota = quota;
    this.name = name;
    this.unready = unready;
  }

  @Override
  public long max(String tenant) {
    long max = quota.max(tenant);
    if (agreed || max == NONE) return max;
    wanted = true;
    return NONE;
  }

  @Override
  public void reached(String tenant) {
    quota.reached(tenant);
  }

  /** Asks the other nodes, if that is due. Quick; throws nothing. */
  void look() {
    if (agreed || !wanted || !asking.compareAndSet(false, true)) return;
    Thread.ofPlatform().daemon().name("dunlin-agreed-limit").start(this::ask);
  }

  private void ask() {
    try {
      var left = unready.get();
      if (left.isEmpty()) {
        agreed = true;
        log.info("All nodes can apply the limit {} of tenants; it holds from now on", name);
      } else if (!left.equals(told)) {
        log.warn("No tenant is limited by {} until all nodes have said that they can apply it: {}", name, String.join("; ", left));
        told = left;
      }
    } catch (RuntimeException failure) {
      log.warn("Other nodes could not be asked whether they can apply the limit {} of tenants, which does not hold yet", name, failure);
    } finally {
      asking.set(false);
    }
  }
}
