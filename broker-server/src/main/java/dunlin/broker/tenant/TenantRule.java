package dunlin.broker.tenant;

import java.util.Optional;

/** What is in force for one tenant. */
final class TenantRule {
  /*
   * Immutable. An array, since it is read for each message.
   */
  private final TenantDirectory source;
  private final long[] max = new long[TenantLimit.values().length];
  private final Optional<Entrance.Refused> away;

  /**
   * @param source what it follows from
   * @param away why clients of the tenant may not be connected; empty when they may
   */
  TenantRule(TenantDirectory source, TenantLimits limits, Optional<Entrance.Refused> away) {
    this.source = source;
    this.away = away;
    for (TenantLimit each : TenantLimit.values()) max[each.index()] = limits.max(each);
  }

  @SuppressWarnings("ReferenceEquality") // each version is one object
  boolean isOf(TenantDirectory other) {
    return source == other;
  }

  /** The most that is allowed; {@link TenantLimits#NONE} when it is not limited. */
  long max(TenantLimit limit) {
    return max[limit.index()];
  }

  boolean limits(TenantLimit limit) {
    return max(limit) != TenantLimits.NONE;
  }

  Optional<Entrance.Refused> away() {
    return away;
  }
}
