package dunlin.store.ways;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** The tenants of which a node wants to know what they have in ranges that other nodes lead: those that were asked about within the last minute. */
public final class WantedTenants {
  /*
   * Owner: any thread.
   * Bounds: TENANTS_MAX tenants.
   * Full: further tenants are not wanted until others have been for a minute no more. Nothing is known of them, as of one that is wanted for the first time.
   */
  /** The most tenants of one question. */
  public static final int TENANTS_MAX = 1_024;

  private static final long WANTED_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** By tenant: when it was wanted last. */
  private final Map<String, Long> wanted = new ConcurrentHashMap<>();

  /** Notes that a tenant is wanted. */
  public void want(String tenant) {
    if (wanted.containsKey(tenant) || wanted.size() < TENANTS_MAX) wanted.put(tenant, System.nanoTime());
  }

  /** The tenants to ask about now. */
  public List<String> list() {
    long now = System.nanoTime();
    wanted.values().removeIf(last -> now - last > WANTED_NANOS);
    return wanted.keySet().stream().limit(TENANTS_MAX).toList();
  }

  /** The answers to a question about tenants. */
  public static <A> Map<String, A> byTenant(List<String> tenants, List<A> answers) {
    var all = new HashMap<String, A>();
    for (int i = 0; i < Math.min(tenants.size(), answers.size()); i++) all.put(tenants.get(i), answers.get(i));
    return all;
  }
}
