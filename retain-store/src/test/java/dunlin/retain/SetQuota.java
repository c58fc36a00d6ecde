package dunlin.retain;

import dunlin.model.TenantQuota;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A limit of tenants that a test sets. */
final class SetQuota implements TenantQuota {
  private final Map<String, Long> most = new ConcurrentHashMap<>();
  private final AtomicInteger reached = new AtomicInteger();

  SetQuota of(String tenant, long max) {
    most.put(tenant, max);
    return this;
  }

  /** How often it was reached. */
  int reached() {
    return reached.get();
  }

  @Override
  public long max(String tenant) {
    return most.getOrDefault(tenant, NONE);
  }

  @Override
  public void reached(String tenant) {
    reached.incrementAndGet();
  }
}
