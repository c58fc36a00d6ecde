package dunlin.inbox.propose;

import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import dunlin.model.TenantQuota;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** Bounds the durable sessions of each tenant, and their subscriptions, over all ranges. */
public final class TenantSessions {
  /*
   * Owner: any thread.
   * Bounds: the counts are those of the ranges; of ranges that other nodes lead, as these have answered last. What is looked at is what has been applied, so a tenant
   *   may exceed its bound by the calls that were on their way together.
   * It is no matter of the ranges: a bound that changes while commands are in a log would be decided differently by replicas.
   */
  private final List<RangeState> ranges;
  private final Function<String, OtherRange.Held> otherNodes;

  private volatile ToLongFunction<String> most = _ -> TenantQuota.NONE;
  private volatile TenantQuota subscriptions = TenantQuota.UNLIMITED;

  /**
   * @param ranges all ranges that the node leads
   * @param otherNodes what a tenant has in ranges of other nodes, as far as it is known
   */
  public TenantSessions(List<RangeState> ranges, Function<String, OtherRange.Held> otherNodes) {
    this.ranges = List.copyOf(ranges);
    this.otherNodes = otherNodes;
  }

  /**
   * Sets how many durable sessions a tenant may have, and how many subscriptions these together.
   *
   * @param sessionsMax must be quick
   */
  public void limit(ToLongFunction<String> sessionsMax, TenantQuota subscriptionsMax) {
    most = sessionsMax;
    subscriptions = subscriptionsMax;
  }

  /** Why a CONNECT may have no durable session; empty when it may, or has one already. */
  public Optional<QuotaExceededException> refusal(Connect request) {
    if (!request.durable()) return Optional.empty();
    long max = most.applyAsLong(request.tenant());
    if (max == TenantQuota.NONE) return Optional.empty();
    var key = new SessionKey(request.tenant(), request.clientId());
    long count = otherNodes.apply(request.tenant()).durable();
    for (RangeState range : ranges) {
      var present = range.sessions.get(key);
      if (present != null && present.expirySeconds() > 0) return Optional.empty();
      count += range.durableByTenant.of(request.tenant());
    }
    if (count < max) return Optional.empty();
    return Optional.of(new QuotaExceededException(QuotaExceededException.Kind.TENANT_SESSIONS, "durable sessions of the tenant", max));
  }

  /** Why a tenant may not have so many subscriptions more, if all of them are new; empty when it may. */
  public Optional<QuotaExceededException> refusal(String tenant, int more) {
    long max = subscriptions.max(tenant);
    if (max == TenantQuota.NONE) return Optional.empty();
    long count = otherNodes.apply(tenant).subscriptions();
    for (RangeState range : ranges) count += range.subscriptionsByTenant.of(tenant);
    if (count + more <= max) return Optional.empty();
    return Optional.of(new QuotaExceededException(QuotaExceededException.Kind.TENANT_SUBSCRIPTIONS, "subscriptions of the tenant", max));
  }

  /**
   * The answer to subscriptions of a tenant that has as many as it may have, and that were proposed as if no memory was left: only those that are there are replaced.
   *
   * @param refusal of new ones
   */
  public <T> CompletableFuture<T> noted(String tenant, QuotaExceededException refusal, CompletableFuture<T> answer) {
    return answer.exceptionallyCompose(
        failure -> {
          boolean isNew = failure instanceof QuotaExceededException quota && quota.kind() == QuotaExceededException.Kind.MEMORY;
          if (isNew) subscriptions.reached(tenant);
          return CompletableFuture.failedFuture(isNew ? refusal : failure);
        });
  }
}
