package dunlin.model;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A sum for each tenant, of something that follows from the rows. */
public final class TenantCounts {
  /*
   * Owner: the range's applying thread counts; other threads read.
   * Bounds: an entry for each tenant that has something.
   */
  private final ConcurrentHashMap<String, AtomicLong> all = new ConcurrentHashMap<>();

  /** Adds to the sum of a tenant, or takes from it. */
  public void count(String tenant, long more) {
    AtomicLong of = all.get(tenant);
    if (of == null) {
      if (more != 0) all.put(tenant, new AtomicLong(more));
    } else if (of.addAndGet(more) == 0) {
      all.remove(tenant);
    }
  }

  /** The sum of a tenant. */
  public long of(String tenant) {
    AtomicLong of = all.get(tenant);
    return of == null ? 0 : of.get();
  }

  /** Forgets all of them. */
  public void clear() {
    all.clear();
  }
}
