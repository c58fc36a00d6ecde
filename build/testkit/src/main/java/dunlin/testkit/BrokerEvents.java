package dunlin.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * What the brokers of a {@link DunlinCluster} have reported: connections that began and ended, lines of the logs {@code dunlin.events} and
 * {@code dunlin.audit}, and warnings.
 *
 * <p>Lines of logs are only there when the test logs by Logback, and at the levels that its configuration lets pass. Connections are always there. A line that
 * is logged by a thread that the brokers of several clusters share counts for the one that has started that thread.
 */
public final class BrokerEvents {
  /*
   * Owner: any thread, under the lock.
   * Bounds: KEPT events. Full: the oldest is forgotten, and the text says how many were.
   */
  private static final int KEPT = 10_000;

  /** What all views share. */
  private static final class Kept {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition more = lock.newCondition();

    @GuardedBy("lock")
    private final ArrayDeque<BrokerEvent> events = new ArrayDeque<>();

    @GuardedBy("lock")
    private long forgotten;

    void add(BrokerEvent event) {
      lock.lock();
      try {
        if (events.size() == KEPT) {
          events.removeFirst();
          forgotten++;
        }
        events.addLast(event);
        more.signalAll();
      } finally {
        lock.unlock();
      }
    }

    long count() {
      lock.lock();
      try {
        return forgotten + events.size();
      } finally {
        lock.unlock();
      }
    }

    long forgottenSince(long first) {
      lock.lock();
      try {
        return Math.max(0, forgotten - first);
      } finally {
        lock.unlock();
      }
    }

    List<BrokerEvent> since(long first) {
      lock.lock();
      try {
        return events.stream().skip(Math.max(0, first - forgotten)).toList();
      } finally {
        lock.unlock();
      }
    }

    /** Waits until there are more than so many in all, or the time is over. Answers how many nanoseconds are left. */
    long awaitMore(long seen, long nanos) throws InterruptedException {
      lock.lock();
      try {
        long left = nanos;
        while (forgotten + events.size() <= seen && left > 0) left = more.awaitNanos(left);
        return left;
      } finally {
        lock.unlock();
      }
    }
  }

  private final Kept kept;
  private final long first;

  BrokerEvents() {
    this(new Kept(), 0);
  }

  private BrokerEvents(Kept kept, long first) {
    this.kept = kept;
    this.first = first;
  }

  void add(BrokerEvent event) {
    kept.add(event);
  }

  /** Those that are reported after this call. */
  public BrokerEvents fromNow() {
    return new BrokerEvents(kept, kept.count());
  }

  /** The last 10,000, the oldest first. */
  public List<BrokerEvent> all() {
    return kept.since(first);
  }

  /** Those that are lines of a log. */
  public List<BrokerEvent.Line> lines() {
    return only(BrokerEvent.Line.class);
  }

  /** Those that are about connections. */
  public List<BrokerEvent.Connection> connections() {
    return only(BrokerEvent.Connection.class);
  }

  private <T extends BrokerEvent> List<T> only(Class<T> kind) {
    return all().stream().filter(kind::isInstance).map(kind::cast).toList();
  }

  /**
   * Waits for an event, which may have been reported already.
   *
   * @throws AssertionError when there is none in time; the message has the events that there are
   */
  public BrokerEvent await(Predicate<BrokerEvent> wanted, Duration within) {
    long left = within.toNanos();
    while (true) {
      long seen = kept.count();
      for (BrokerEvent each : all()) if (wanted.test(each)) return each;
      if (left <= 0) throw new AssertionError("no such event within " + within + ". " + this);
      try {
        left = kept.awaitMore(seen, left);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("interrupted while it waited for an event", e);
      }
    }
  }

  /** One line for each. */
  @Override
  public String toString() {
    List<BrokerEvent> all = all();
    long forgotten = kept.forgottenSince(first);
    return "The brokers have reported %s%s".formatted(
        all.isEmpty() ? "nothing" : all.stream().map(each -> "\n  " + each.at() + " " + each).collect(Collectors.joining()),
        forgotten == 0 ? "" : "\n  and " + forgotten + " events before these");
  }
}
