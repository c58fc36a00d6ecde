package dunlin.broker.users;

import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.Kind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This node's copy of the range of users, roles and bans. */
public final class AccessCopy {
  /*
   * Owner: any thread. The lock guards what is being copied. Directories are replaced as a whole.
   * Bounds: those of the range, twice for a moment while a directory is replaced; one question at a time.
   * Failure: a question that fails is asked again with the next refresh(); until then the last directory stays, and its age grows, which a metric shows. When the range does not remember all that was deleted since,
   *   the copy is made anew beside the last directory.
   */
  private static final Logger log = LoggerFactory.getLogger(AccessCopy.class);

  private final Object lock = new Object();
  private final Counter failures;
  private @Nullable AccessClient client;
  private boolean asking;
  private boolean again;
  private TreeMap<RowKey, AccessRow> rows = new TreeMap<>();
  private boolean roles;
  private boolean bans;
  private boolean changed;
  private boolean failing;
  private long heardNanos;
  private long base;
  private long since;

  private volatile Directory directory = Directory.empty();
  private volatile boolean complete;
  private volatile Consumer<Directory> listener = _ -> {};

  public AccessCopy(MeterRegistry meters) {
    failures =
        Counter.builder("dunlin.auth.users.copy.failures")
            .description("Times that this node could not ask what has changed among users, roles and bans")
            .register(meters);
    Gauge.builder("dunlin.auth.users.copy.age", this, AccessCopy::ageSeconds)
        .description("Time since this node last knew all changes of users, roles and bans")
        .baseUnit("seconds")
        .register(meters);
    Gauge.builder("dunlin.auth.users.version", this, each -> each.directory.version())
        .description("Version of this node's copy of users, roles and bans, which each change raises")
        .register(meters);
    Gauge.builder("dunlin.auth.users", this, each -> each.directory.count(Kind.USER, Kind.USER))
        .description("Users in this node's copy")
        .register(meters);
    Gauge.builder("dunlin.auth.users.roles", this, each -> each.directory.count(Kind.ROLE, Kind.ROLE))
        .description("Roles in this node's copy")
        .register(meters);
    Gauge.builder("dunlin.auth.users.bans", this, each -> each.directory.count(Kind.BANNED_CLIENT, Kind.BANNED_ADDRESS))
        .description("Bans in this node's copy")
        .register(meters);
    Gauge.builder("dunlin.auth.users.tenants", this, each -> each.directory.count(Kind.TENANT, Kind.TENANT))
        .description("Tenants in this node's copy")
        .register(meters);
  }

  /** Sets what is called with each new directory, before this returns with the present one. It must be quick. */
  public void onChange(Consumer<Directory> task) {
    synchronized (lock) {
      listener = task;
      task.accept(directory);
    }
  }

  /** Sets whom to ask. */
  public void from(AccessClient source) {
    synchronized (lock) {
      client = source;
      heardNanos = System.nanoTime();
    }
  }

  /** Time since this node last knew all changes; 0 on a node that does not ask for them. */
  private double ageSeconds() {
    synchronized (lock) {
      return client == null ? 0 : (System.nanoTime() - heardNanos) / 1e9;
    }
  }

  /** Waits until the copy has a version, or the time is over. For a thread that may block. */
  void await(long version, Duration patience) {
    long until = System.nanoTime() + patience.toNanos();
    refresh();
    try {
      synchronized (lock) {
        for (long left; directory.version() < version && (left = until - System.nanoTime()) > 0; ) TimeUnit.NANOSECONDS.timedWait(lock, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Empty until the copy {@link #isComplete}. */
  public Directory directory() {
    return directory;
  }

  /** Whether this node has had all users, roles and bans once. */
  public boolean isComplete() {
    return complete;
  }

  /** Asks what has changed. Never blocks, throws nothing. */
  public void refresh() {
    synchronized (lock) {
      if (asking) again = true;
      else ask();
    }
  }

  /** Holds the lock. */
  private void ask() {
    var asked = client;
    if (asked == null) return;
    asking = true;
    again = false;
    asked.changes(base, since).whenComplete(this::answered);
  }

  private void answered(@Nullable AccessPage page, @Nullable Throwable failure) {
    synchronized (lock) {
      asking = false;
      if (page == null) {
        failures.increment();
        if (!failing) log.info("It is not known what has changed among users, roles and bans; this node asks again: {}", failure == null ? "" : failure.getMessage());
        failing = true;
        return;
      }
      failing = false;
      take(page);
      if (page.complete()) heardNanos = System.nanoTime();
      lock.notifyAll();
      if (!page.complete() || again) ask();
    }
  }

  private void take(AccessPage page) {
    if (page.fromStart()) {
      changed = !complete || !rows.isEmpty() || !page.changes().isEmpty();
      rows = new TreeMap<>();
      roles = true;
      bans = true;
    } else if (!changed && !page.changes().isEmpty()) {
      rows = new TreeMap<>(rows); // the directory has the one before
      changed = true;
    }
    for (AccessPage.Change change : page.changes()) {
      roles |= change.key().kind() == Kind.ROLE;
      bans |= change.key().kind().isBan();
      change.row().ifPresentOrElse(row -> rows.put(change.key(), row), () -> rows.remove(change.key()));
    }
    base = page.base();
    since = page.upTo();
    if (!page.complete()) return;
    if (changed) {
      directory = directory.next(rows, page.upTo(), page.secret(), roles, bans);
      listener.accept(directory);
    }
    complete = true;
    changed = false;
    roles = false;
    bans = false;
  }
}
