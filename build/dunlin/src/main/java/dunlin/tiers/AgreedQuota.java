package dunlin.tiers;

import dunlin.model.TenantQuota;

/** A limit of tenants that holds once all nodes of a cluster have said that their replicas can apply what it adds to the log. */
public final class AgreedQuota implements TenantQuota {
  /*
   * Owner: any thread asks what a tenant may have. look() is called by the housekeeping thread, and asks the other nodes once a tenant
   *   with a limit was asked about: by a leader, so this node knows the others.
   * Failure: as long as there is no agreement, no tenant is limited.
   */
  private final TenantQuota quota;
  private final Agreement agreement;

  private volatile boolean wanted;

  public AgreedQuota(TenantQuota quota, Agreement agreement) {
    this.quota = quota;
    this.agreement = agreement;
  }

  @Override
  public long max(String tenant) {
    long max = quota.max(tenant);
    if (max == NONE || agreement.isReached()) return max;
    wanted = true;
    return NONE;
  }

  @Override
  public void reached(String tenant) {
    quota.reached(tenant);
  }

  /** Asks the other nodes, if that is due. Quick; throws nothing. */
  public void look() {
    if (wanted) agreement.look();
  }
}
