package dunlin.inbox.propose;

import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;

/** Bounds the durable sessions of each tenant, over all ranges. */
public final class TenantSessions {
  /*
   * Owner: any thread.
   * Bounds: the counts are those of the ranges. What is looked at is what has been applied, so a tenant may exceed its bound by the CONNECTs that were on their way together.
   *   Of ranges that other nodes lead it is what they have answered last, so by the CONNECTs since then, too.
   * It is no matter of the ranges: a bound that changes while commands are in a log would be decided differently by replicas.
   */
  private final List<RangeState> ranges;
  private final ToLongFunction<String> elsewhere;

  private volatile ToLongFunction<String> most = _ -> Long.MAX_VALUE;

  /** @param elsewhere how many durable sessions of a tenant the ranges of other nodes have */
  public TenantSessions(List<RangeState> ranges, ToLongFunction<String> elsewhere) {
    this.ranges = List.copyOf(ranges);
    this.elsewhere = elsewhere;
  }

  /** Sets how many durable sessions a tenant may have. It must be quick. */
  public void limit(ToLongFunction<String> sessionsMax) {
    most = sessionsMax;
  }

  /** Why a CONNECT may have no durable session; empty when it may, or has one already. */
  public Optional<QuotaExceededException> refusal(Connect request) {
    if (!request.durable()) return Optional.empty();
    long max = most.applyAsLong(request.tenant());
    if (max == Long.MAX_VALUE) return Optional.empty();
    var key = new SessionKey(request.tenant(), request.clientId());
    long count = elsewhere.applyAsLong(request.tenant());
    for (RangeState range : ranges) {
      var present = range.sessions.get(key);
      if (present != null && present.expirySeconds() > 0) return Optional.empty();
      count += range.durableByTenant.getOrDefault(request.tenant(), 0);
    }
    if (count < max) return Optional.empty();
    return Optional.of(new QuotaExceededException(QuotaExceededException.Kind.TENANT_SESSIONS, "durable sessions of the tenant", max));
  }
}
