package dunlin.broker.tenant;

import dunlin.broker.users.AccessEntry;
import dunlin.broker.users.AccessRow;
import dunlin.broker.users.Directory;
import dunlin.model.ReasonCode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What settings and records say of tenants, at one version of the records. */
final class TenantDirectory {
  /*
   * Immutable. Bounds: those of the range that has the records.
   */
  private static final Logger log = LoggerFactory.getLogger(TenantDirectory.class);
  private static final Entrance.Refused SUSPENDED =
      new Entrance.Refused(ReasonCode.BANNED, ReasonCode.ADMINISTRATIVE_ACTION, "the tenant is suspended");
  private static final Entrance.Refused DELETED =
      new Entrance.Refused(ReasonCode.NOT_AUTHORIZED, ReasonCode.ADMINISTRATIVE_ACTION, "the tenant is being deleted");
  private static final Entrance.Refused UNKNOWN =
      new Entrance.Refused(ReasonCode.NOT_AUTHORIZED, ReasonCode.NOT_AUTHORIZED, "the tenant is not known here (dunlin.tenants.unknown)");

  private final TenantSettings settings;
  private final Map<String, Known> records;

  /** By limit: whether any tenant has it. */
  private final boolean[] used = new boolean[TenantLimit.values().length];

  /** A record whose limits have been read. */
  private record Known(long version, AccessEntry.Tenant.State state, TenantLimits limits) {}

  private TenantDirectory(TenantSettings settings, Map<String, Known> records) {
    this.settings = settings;
    this.records = records;
    use(settings.limits());
    settings.own().values().forEach(this::use);
    records.values().forEach(known -> use(known.limits()));
  }

  private void use(TenantLimits limits) {
    limits.values().forEach((limit, max) -> used[limit.index()] |= max != TenantLimits.NONE);
  }

  /** Without records. */
  static TenantDirectory of(TenantSettings settings) {
    return new TenantDirectory(settings, Map.of());
  }

  /** The next version, with what has not changed since this one taken over. */
  TenantDirectory next(Directory directory) {
    Map<String, Known> next = new HashMap<>();
    directory.tenants("").forEach(row -> next.put(row.entry().key().name(), known(row)));
    return new TenantDirectory(settings, next);
  }

  private Known known(AccessRow row) {
    var tenant = (AccessEntry.Tenant) row.entry();
    Known before = records.get(tenant.name());
    if (before != null && before.version() == row.version()) return before;
    return new Known(row.version(), tenant.state(), read(tenant.name(), tenant.limits()));
  }

  /** They were read before they were stored, by a node that may have had a later version of Dunlin. */
  private static TenantLimits read(String name, List<String> texts) {
    try {
      return TenantLimits.parse(texts);
    } catch (IllegalArgumentException e) {
      log.error("This version of Dunlin cannot read the limits of the tenant \"{}\"; it has those of the settings: {}", name, e.getMessage());
      return TenantLimits.none();
    }
  }

  TenantRule rule(String name) {
    Known known = records.get(name);
    TenantLimits own = settings.own().get(name);
    TenantLimits limits = own == null ? settings.limits() : own.over(settings.limits());
    return new TenantRule(this, known == null ? limits : known.limits().over(limits), Optional.ofNullable(away(known, own)));
  }

  /** The most that a tenant may have. It costs next to nothing while no tenant has this limit. */
  long max(String name, TenantLimit limit) {
    if (!used[limit.index()]) return TenantLimits.NONE;
    Known known = records.get(name);
    Long max = known == null ? null : known.limits().values().get(limit);
    TenantLimits own = max == null ? settings.own().get(name) : null;
    if (own != null) max = own.values().get(limit);
    return max == null ? settings.limits().max(limit) : max;
  }

  private Entrance.@Nullable Refused away(@Nullable Known known, @Nullable TenantLimits own) {
    if (known == null) return own == null && settings.unknown() == TenantSettings.Unknown.REFUSE ? UNKNOWN : null;
    return switch (known.state()) {
      case ACTIVE -> null;
      case SUSPENDED -> SUSPENDED;
      case DELETING -> DELETED;
    };
  }
}
