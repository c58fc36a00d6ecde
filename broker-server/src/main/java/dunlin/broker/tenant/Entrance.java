package dunlin.broker.tenant;

import dunlin.model.ReasonCode;

/** Whether a client may connect, as far as its tenant goes. */
public sealed interface Entrance {
  /** It may, and is counted until {@link Tenants#leave}. */
  record Entered(Tenant tenant) implements Entrance {}

  /**
   * It may not, because of what the tenant is.
   *
   * @param reason for CONNACK
   * @param connected for DISCONNECT of a client that is connected
   */
  record Refused(ReasonCode reason, ReasonCode connected, String explanation) implements Entrance {}

  /** It may not now, because of a limit. */
  record Limited(Tenant tenant, TenantLimit limit, ReasonCode reason, String explanation) implements Entrance {}
}
