package dunlin.broker.tenant;

import dunlin.broker.users.Directory;
import dunlin.model.TenantQuota;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The tenants of this node's clients. */
public final class Tenants {
  /*
   * Owner: any thread, event loops too: a map's lock is held for some numbers. One thread at a time calls replace() and sweep().
   * Bounds: an entry for each tenant that has connections, or had some within the last seconds, or of which an event was written within the last minute, or which
   *   has reached a limit of a store within the last second; so no more than connections, some hundred for events, and what a second's refusals name.
   *   Meters: of the tenants that the settings name.
   * Failure: none; what was counted is lost with the node.
   */
  private final TenantSettings settings;
  private final LongSupplier nanoTime;
  private final ConcurrentHashMap<String, Tenant> tenants = new ConcurrentHashMap<>();
  private final AtomicInteger connections = new AtomicInteger();
  private final Map<String, TenantMeters> named = new HashMap<>();
  private final TenantMeters others;
  private final Counter refused;

  /** One writer: replace(). */
  private volatile TenantDirectory directory;

  /** @param nanoTime a clock that never steps, in nanoseconds */
  public Tenants(TenantSettings settings, LongSupplier nanoTime, MeterRegistry meters) {
    this.settings = settings;
    this.nanoTime = nanoTime;
    directory = TenantDirectory.of(settings);
    LineLimit lines = new LineLimit(TenantMeters.EVENTS_A_SECOND, nanoTime);
    others = new TenantMeters(TenantSettings.OTHERS, lines, meters);
    for (String each : settings.metrics()) {
      named.put(each, new TenantMeters(each, lines, meters));
      show(each, () -> connections(each), meters);
    }
    show(TenantSettings.OTHERS, () -> connections.get() - settings.metrics().stream().mapToInt(this::connections).sum(), meters);
    Gauge.builder("dunlin.tenants.connected", tenants, Map::size)
        .description("Tenants that have connections at this node, or had some within the last seconds, or have reached limits of stores here")
        .register(meters);
    refused =
        Counter.builder("dunlin.tenants.refused")
            .description("Clients that were refused or disconnected because their tenant is suspended, deleted or unknown")
            .register(meters);
  }

  private static void show(String label, Supplier<Number> number, MeterRegistry meters) {
    Gauge.builder("dunlin.tenants.connections", number)
        .description("Connections of tenants; those that dunlin.tenants.metrics does not name are one")
        .tag("tenant", label)
        .register(meters);
  }

  /** What the settings say of tenants. */
  public TenantSettings settings() {
    return settings;
  }

  /** Replaces the records of tenants; also for the tenants of connected clients. */
  public void replace(Directory records) {
    directory = directory.next(records);
    tenants.values().forEach(this::apply);
  }

  private void apply(Tenant to) {
    synchronized (to) {
      TenantDirectory present = directory;
      if (!to.rule().isOf(present)) to.rule(present.rule(to.name()));
    }
  }

  /** Counts a connection of a tenant, unless the tenant may not have it. */
  public Entrance enter(String name) {
    TenantDirectory present = directory;
    Optional<Entrance.Refused> away = present.rule(name).away();
    if (away.isPresent()) {
      refused.increment();
      return away.get();
    }
    Entrance[] entrance = new Entrance[1];
    Tenant tenant =
        tenants.compute(
            name,
            (_, before) -> {
              Tenant now = before == null ? made(name, present) : before;
              entrance[0] = now.enter();
              return now;
            });
    apply(Objects.requireNonNull(tenant)); // replace() may have passed by before it was in the map
    if (entrance[0] instanceof Entrance.Entered) connections.incrementAndGet();
    return entrance[0];
  }

  /** A tenant with what is in force for it now, also without connections; for a question that is not about one of these. */
  public Tenant now(String name) {
    Tenant present = tenants.get(name);
    return present != null ? present : made(name, directory);
  }

  private Tenant made(String name, TenantDirectory by) {
    return new Tenant(name, by.rule(name), named.getOrDefault(name, others), nanoTime);
  }

  /** A connection that has entered has ended. */
  public void leave(Tenant tenant) {
    tenant.leave();
    connections.decrementAndGet();
  }

  /** Counts a client that is disconnected because of what its tenant has become. */
  public void expelled() {
    refused.increment();
  }

  /** Forgets tenants without connections. Must be called about once a second. */
  public void sweep() {
    for (Tenant each : tenants.values()) {
      if (each.isIdle()) tenants.computeIfPresent(each.name(), (_, present) -> present.isIdle() ? null : present);
    }
  }

  /** The most that a tenant may have; {@link TenantLimits#NONE} when it is not limited. */
  public long max(String name, TenantLimit limit) {
    return directory.max(name, limit);
  }

  /** A limit of what stores have, for the leaders of their ranges. */
  public TenantQuota quota(TenantLimit limit) {
    return new TenantQuota() {
      @Override
      public long max(String tenant) {
        return Tenants.this.max(tenant, limit);
      }

      @Override
      public void reached(String tenant) {
        hit(tenant, limit);
      }
    };
  }

  /** Counts that a limit was reached by a tenant that need not have a connection here. */
  private void hit(String name, TenantLimit limit) {
    TenantDirectory present = directory;
    Tenant tenant = tenants.computeIfAbsent(name, _ -> made(name, present));
    apply(tenant);
    tenant.hit(limit);
  }

  /** Connections of a tenant at this node. */
  public int connections(String name) {
    Tenant present = tenants.get(name);
    return present == null ? 0 : present.connections();
  }

  /** How often limits of a tenant were reached at this node since it has known the tenant; without those that were not. */
  Map<TenantLimit, Long> hits(String name) {
    Map<TenantLimit, Long> hits = new HashMap<>();
    Tenant present = tenants.get(name);
    if (present == null) return hits;
    for (TenantLimit limit : TenantLimit.values()) if (present.hits(limit) > 0) hits.put(limit, present.hits(limit));
    return hits;
  }

  /**
   * The tenant of a client whose authentication names none.
   *
   * @param user its user name; empty for none
   * @param listener the name of its listener
   * @param serverName the name by which it has called the server in its TLS handshake; null for none
   * @param usual when none of them says one
   * @return empty when the user name has an @ and no name of a tenant behind it, or else the server name is not among those of the listener
   */
  public Optional<String> placeOf(String user, String listener, @Nullable String serverName, String usual) {
    int at = settings.fromUserName() ? user.lastIndexOf('@') : -1;
    if (at >= 0) return Optional.of(user.substring(at + 1)).filter(TenantSettings::isName);
    ServerNames names = settings.ofServerNames().get(listener);
    if (names != null && serverName != null) return names.tenantOf(serverName);
    return Optional.of(settings.ofListeners().getOrDefault(listener, usual));
  }
}
