package dunlin.broker.tenant;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A tenant at this node: what it may have, what it has, and how often it was limited. */
public final class Tenant {
  /*
   * Owner: any thread; event loops take from its rates without a lock. rule has one writer at a time, Tenants.
   * Bounds: some numbers for each limit. A rate holds what is taken in one second.
   * A rate is one number: when all that was taken is within the rate. Taking moves it on, and who finds it in the future waits until then. So those that
   * wait do so in the order in which they have taken, without a queue.
   * Full: take() answers how long to wait, enter() refuses.
   * Failure: none; all of it is lost with the node.
   */
  static final long BURST_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Less than this is not waited for: to stop a connection and to start it again costs some system calls. */
  static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private static final long EVENT_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final int LIMITS = TenantLimit.values().length;

  private final String name;
  private final TenantMeters meters;
  private final LongSupplier nanoTime;
  private final AtomicInteger connections = new AtomicInteger();

  /** Of sessions that are not durable, and whose connections were made with a limit. */
  private final AtomicInteger subscriptions = new AtomicInteger();

  private final AtomicInteger version = new AtomicInteger();

  /** By limit: when what was taken is within the rate. */
  private final AtomicLongArray due = new AtomicLongArray(LIMITS);

  /** By limit: how often it was hit, how often of these without an event, and when the last event was, from when on there may be one. */
  private final AtomicLongArray hits = new AtomicLongArray(LIMITS);

  private final AtomicLongArray untold = new AtomicLongArray(LIMITS);
  private final AtomicLongArray eventFrom = new AtomicLongArray(LIMITS);

  private volatile TenantRule rule;

  Tenant(String name, TenantRule rule, TenantMeters meters, LongSupplier nanoTime) {
    this.name = name;
    this.rule = rule;
    this.meters = meters;
    this.nanoTime = nanoTime;
    long now = nanoTime.getAsLong();
    for (int i = 0; i < LIMITS; i++) {
      due.set(i, now - BURST_NANOS);
      eventFrom.set(i, now);
    }
  }

  public String name() {
    return name;
  }

  TenantRule rule() {
    return rule;
  }

  void rule(TenantRule next) {
    long now = nanoTime.getAsLong();
    for (TenantLimit limit : TenantLimit.values()) {
      if (next.max(limit) != rule.max(limit)) due.set(limit.index(), now); // what was to be waited for by the former rate
    }
    rule = next;
    version.incrementAndGet();
  }

  /** Another number after the tenant's limits or its state may have changed. */
  public int version() {
    return version.get();
  }

  /** Why its clients may not be connected now; empty when they may. */
  public Optional<Entrance.Refused> away() {
    return rule.away();
  }

  // ----------------------------------------------------------------------------------------------------------------------- connections

  /** Counts a connection, unless a limit is reached. */
  Entrance enter() {
    long max = rule.max(TenantLimit.CONNECTIONS);
    if (!isCounted(connections, max)) {
      return limited(TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED, "too many connections of the tenant, limit %d at this node".formatted(max));
    }
    long rate = rule.max(TenantLimit.CONNECT_RATE);
    if (rate != TenantLimits.NONE && !takesWithin(TenantLimit.CONNECT_RATE, rate)) {
      leave();
      String explanation = "too many connects of the tenant, limit %d a second at this node".formatted(rate);
      return limited(TenantLimit.CONNECT_RATE, ReasonCode.CONNECTION_RATE_EXCEEDED, explanation);
    }
    return new Entrance.Entered(this);
  }

  /** Counts one more, if that is no more than a limit. */
  private static boolean isCounted(AtomicInteger count, long max) {
    return count.getAndUpdate(before -> before < max ? before + 1 : before) < max;
  }

  private Entrance limited(TenantLimit limit, ReasonCode reason, String explanation) {
    return new Entrance.Limited(this, limit, reason, explanation);
  }

  private boolean takesWithin(TenantLimit limit, long rate) {
    while (true) {
      long now = nanoTime.getAsLong();
      long before = due.get(limit.index());
      long after = Math.max(before, now - BURST_NANOS) + BURST_NANOS / rate;
      if (after > now) return false;
      if (due.compareAndSet(limit.index(), before, after)) return true;
    }
  }

  void leave() {
    int left = connections.decrementAndGet();
    assert left >= 0 : "more connections left than entered: " + name;
  }

  /** Connections at this node. */
  public int connections() {
    return connections.get();
  }

  /** Whether nothing would be lost if it was forgotten: it has no connections, its rates are as in the beginning, and no event would come too early. */
  boolean isIdle() {
    if (connections.get() > 0) return false;
    long now = nanoTime.getAsLong();
    long full = now - BURST_NANOS;
    for (int i = 0; i < LIMITS; i++) if (due.get(i) > full || eventFrom.get(i) - now > 0) return false;
    return true;
  }

  /** Counts a subscription of a session that is not durable, unless a limit is reached. */
  public boolean subscribe() {
    return isCounted(subscriptions, rule.max(TenantLimit.ALL_SUBSCRIPTIONS));
  }

  /** Ends subscriptions that were counted. */
  public void unsubscribe(int count) {
    int left = subscriptions.addAndGet(-count);
    assert left >= 0 : "more subscriptions ended than counted: " + name;
  }

  // ----------------------------------------------------------------------------------------------------------------------------- rates

  /** Counts a PUBLISH from a client. */
  public void received() {
    meters.received();
  }

  /** Counts a PUBLISH to a client, of this many bytes. */
  public void sent(int bytes) {
    meters.sent();
    take(TenantLimit.MESSAGES_OUT, 1);
    take(TenantLimit.BYTES_OUT, bytes);
  }

  /** Whether something is limited. */
  public boolean limits(TenantLimit limit) {
    return rule.limits(limit);
  }

  /**
   * Takes from a rate, also when that is exceeded by it.
   *
   * @return nanoseconds to wait before more is taken; 0 for none
   */
  public long take(TenantLimit limit, long amount) {
    long rate = rule.max(limit);
    if (rate == TenantLimits.NONE) return 0;
    long now = nanoTime.getAsLong();
    long cost = (long) ((double) amount * BURST_NANOS / rate);
    while (true) {
      long before = due.get(limit.index());
      long after = Math.max(before, now - BURST_NANOS) + cost;
      if (due.compareAndSet(limit.index(), before, after)) return after - now < SLACK_NANOS ? 0 : after - now;
    }
  }

  /** The rate because of which no more may be sent to its clients now; null when more may be sent. */
  public @Nullable TenantLimit sentEnough() {
    return isExceeded(TenantLimit.MESSAGES_OUT) ? TenantLimit.MESSAGES_OUT : isExceeded(TenantLimit.BYTES_OUT) ? TenantLimit.BYTES_OUT : null;
  }

  private boolean isExceeded(TenantLimit limit) {
    return rule.limits(limit) && due.get(limit.index()) > nanoTime.getAsLong();
  }

  // --------------------------------------------------------------------------------------------------------------------- of one client

  /** The lower of a maximum and the tenant's. */
  public int atMost(TenantLimit limit, int max) {
    return (int) Math.min(max, rule.max(limit));
  }

  /** The lower of a QoS and the tenant's highest. */
  public QoS atMost(QoS qos) {
    return QoS.of(atMost(TenantLimit.QOS, qos.code()));
  }

  /** Whether the tenant may not have what the limit is about. */
  public boolean denies(TenantLimit limit) {
    return rule.max(limit) == 0;
  }

  // ------------------------------------------------------------------------------------------------------------------------------ hits

  /** Counts that a limit was reached; an event says so, once a minute. */
  public void hit(TenantLimit limit) {
    int at = limit.index();
    hits.incrementAndGet(at);
    meters.hit(limit);
    long now = nanoTime.getAsLong();
    long from = eventFrom.get(at);
    if (now - from < 0 || !meters.admitsEvent() || !eventFrom.compareAndSet(at, from, now + EVENT_NANOS)) {
      untold.incrementAndGet(at);
    } else {
      meters.tell(name, limit, rule.max(limit), untold.getAndSet(at, 0));
    }
  }

  /** How often a limit was reached since the node has known the tenant. */
  long hits(TenantLimit limit) {
    return hits.get(limit.index());
  }
}
