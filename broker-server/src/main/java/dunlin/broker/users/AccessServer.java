package dunlin.broker.users;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The range of users, roles and bans on the node that leads it. */
public final class AccessServer implements AccessClient, AutoCloseable {
  /*
   * Owner: any thread; start() and close() are called by the same one.
   * Bounds: the queue of the range. A page has PAGE_BYTES, and at most one row more. One sweep at a time.
   * Full: a change fails with a StoreException.
   * Failure: a sweep that fails is made again SWEEP_SECONDS later. A ban that has ended does nothing while it waits for the sweep.
   */
  private static final int PAGE_BYTES = 256 << 10;
  private static final int SWEEP_SECONDS = 10;
  private static final int SECRET_BYTES = 32;

  private final Range<AccessCommand, AccessResult> range;
  private final AccessRange rows;
  private final AccessBounds bounds;
  private final InstantSource clock;
  private final ScheduledExecutorService timer;
  private final SecureRandom random = new SecureRandom();
  private final AtomicBoolean sweeping = new AtomicBoolean();
  private @Nullable ScheduledFuture<?> sweeps;

  private AccessServer(AccessReplica replica, AccessBounds bounds, InstantSource clock, ScheduledExecutorService timer) {
    range = replica.range();
    rows = replica.rows();
    this.bounds = bounds;
    this.clock = clock;
    this.timer = timer;
  }

  /** Declares the range in a store, before its start. */
  public static AccessServer on(RangeStore store, AccessBounds bounds, InstantSource clock, ScheduledExecutorService timer) {
    var rows = new AccessRange();
    return leading(new AccessReplica(store.range(AccessReplica.KIND, new AccessCodec(), rows), rows), bounds, clock, timer);
  }

  /** For one leadership of a replica. */
  public static AccessServer leading(AccessReplica replica, AccessBounds bounds, InstantSource clock, ScheduledExecutorService timer) {
    return new AccessServer(replica, bounds, clock, timer);
  }

  /** Begins to remove bans that have ended. */
  public void start() {
    sweeps = timer.scheduleWithFixedDelay(this::sweep, SWEEP_SECONDS, SWEEP_SECONDS, TimeUnit.SECONDS);
  }

  private void sweep() {
    var ended = rows.ended(clock.millis());
    if (ended.isEmpty() || !sweeping.compareAndSet(false, true)) return;
    var _ = propose(new AccessCommand.Sweep(clock.millis(), ended)).whenComplete((_, _) -> sweeping.set(false));
  }

  @Override
  public CompletableFuture<AccessResult> change(AccessChange change) {
    return propose(
        switch (change) {
          case AccessChange.Put put -> new AccessCommand.Put(bounds, put, secret());
          case AccessChange.Delete delete -> new AccessCommand.Delete(delete);
        });
  }

  private byte[] secret() {
    byte[] secret = new byte[SECRET_BYTES];
    random.nextBytes(secret);
    return secret;
  }

  private CompletableFuture<AccessResult> propose(AccessCommand command) {
    var answer = new CompletableFuture<AccessResult>();
    if (!range.propose(command, Completion.of(answer))) answer.completeExceptionally(new StoreException("too many changes of users, roles and bans are waiting"));
    return answer;
  }

  @Override
  public CompletableFuture<AccessPage> changes(long base, long since) {
    return CompletableFuture.completedFuture(rows.changes(base, since, PAGE_BYTES));
  }

  @Override
  public void close() {
    if (sweeps != null) sweeps.cancel(false);
  }
}
