package dunlin.broker.tenant;

import dunlin.broker.users.AccessChange;
import dunlin.broker.users.AccessChanges;
import dunlin.broker.users.AccessClient;
import dunlin.broker.users.AccessCopy;
import dunlin.broker.users.AccessEntry;
import dunlin.broker.users.AccessEntry.Tenant.State;
import dunlin.broker.users.AccessRow;
import dunlin.runtime.metrics.NodeBeans;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;

/** Checks what operators ask for about tenants, and makes their changes. */
public final class TenantsBean implements TenantsMXBean {
  /*
   * Owner: any thread that may block.
   * Bounds: a text of LIMITS_MAX characters; the range bounds the records.
   * Failure: wrong input is an IllegalArgumentException; else those of AccessChanges. A change follows from the record that this node's copy has: when
   *   another node has changed it in between, it is refused, and nothing has changed.
   */
  private static final int PAGE_MAX = 1_000;
  private static final int LIMITS_MAX = 1_024;

  private final AccessChanges changes;
  private final AccessCopy copy;
  private final Tenants tenants;

  /**
   * @param node its name, for events
   * @param tenants those of this node's clients
   */
  public TenantsBean(AccessClient client, AccessCopy copy, String node, Tenants tenants) {
    this.changes = new AccessChanges(client, copy, node);
    this.copy = copy;
    this.tenants = tenants;
  }

  @Override
  public List<TenantRow> tenants(String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return copy.directory().tenants(after).limit(max).map(this::shown).toList();
  }

  @Override
  public List<TenantRow> tenant(String name) {
    return found(name).map(this::shown).stream().toList();
  }

  private Optional<AccessRow> found(String name) {
    return copy.directory().row(new AccessEntry.RowKey(AccessEntry.Kind.TENANT, name));
  }

  private TenantRow shown(AccessRow row) {
    var tenant = (AccessEntry.Tenant) row.entry();
    List<String> limited = new ArrayList<>();
    Map<TenantLimit, Long> hits = tenants.hits(tenant.name());
    for (TenantLimit limit : TenantLimit.values()) if (hits.containsKey(limit)) limited.add(limit.label() + '=' + hits.get(limit));
    return new TenantRow(
        tenant.name(), tenant.state().name().toLowerCase(Locale.ROOT), String.join(",", tenant.limits()), tenants.connections(tenant.name()),
        String.join(",", limited), row.version());
  }

  @Override
  public long putTenant(String name, String limits, long version) {
    if (!TenantSettings.isName(name)) throw new IllegalArgumentException("the name of a tenant has 1 to 64 letters, digits, dots, dashes and underscores");
    if (limits.length() > LIMITS_MAX) throw new IllegalArgumentException("the limits have more than " + LIMITS_MAX + " characters");
    List<String> texts = new ArrayList<>();
    for (String each : limits.split(",", -1)) if (!each.isBlank()) texts.add(each.strip());
    List<String> read = TenantLimits.parse(texts).texts();
    Optional<AccessRow> present = found(name);
    if (present.isEmpty()) return changes.put(new AccessEntry.Tenant(name, State.ACTIVE, read), false, version == AccessChange.ANY ? AccessChange.ABSENT : version);
    return change(present.get(), state(present.get()), read, version);
  }

  @Override
  public long suspendTenant(String name, long version) {
    return state(name, State.SUSPENDED, version);
  }

  @Override
  public long resumeTenant(String name, long version) {
    return state(name, State.ACTIVE, version);
  }

  @Override
  public long deleteTenant(String name, long version) {
    return state(name, State.DELETING, version);
  }

  private long state(String name, State state, long version) {
    AccessRow present = found(name).orElseThrow(() -> new NoSuchElementException("there is no tenant \"" + name + '"'));
    return change(present, state, ((AccessEntry.Tenant) present.entry()).limits(), version);
  }

  private static State state(AccessRow row) {
    return ((AccessEntry.Tenant) row.entry()).state();
  }

  private long change(AccessRow present, State state, List<String> limits, long version) {
    var tenant = (AccessEntry.Tenant) present.entry();
    if (tenant.state() == State.DELETING && state == State.DELETING && version == AccessChange.ANY) return present.version(); // repeated
    if (tenant.state() == State.DELETING) throw new IllegalStateException("the tenant \"%s\" is being deleted".formatted(tenant.name()));
    return changes.put(new AccessEntry.Tenant(tenant.name(), state, limits), false, version == AccessChange.ANY ? present.version() : version);
  }

  // ----------------------------------------------------------------------------------------------------------------- what is deleted

  /** The tenants that are being deleted, at most so many, in the order of their names. */
  public List<String> deleting(int max) {
    return copy.directory().tenants("").filter(row -> state(row) == State.DELETING).limit(max).map(row -> row.entry().key().name()).toList();
  }

  /**
   * Deletes users of a tenant, at most so many.
   *
   * @return how many were deleted; 0 where user names say nothing of tenants
   */
  public int deleteUsers(String tenant, int max) {
    if (!tenants.settings().fromUserName()) return 0;
    List<AccessEntry.User> of = copy.directory().users().stream().filter(user -> user.name().endsWith("@" + tenant)).limit(max).toList();
    for (AccessEntry.User user : of) changes.delete(user.key(), AccessChange.ANY);
    return of.size();
  }

  /** Deletes the record of a tenant that is being deleted, and that has nothing any more. */
  public void deleteRecord(String tenant) {
    Optional<AccessRow> present = found(tenant).filter(row -> state(row) == State.DELETING);
    if (present.isPresent()) changes.delete(present.get().entry().key(), present.get().version());
  }
}
