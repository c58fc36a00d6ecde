package dunlin.retain;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.Set;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.Completion;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The retain tier of a node of a cluster: serves the ranges of retained messages that the node leads, each for one leadership. Which keys a range has may change
 * while it is served. A range is read only while no other node can lead it.
 */
public final class RetainTier {
  /*
   * Owner: each leadership has a thread that opens and closes its server, under the lock. Calls come on any thread.
   * Bounds: see RetainRangeServer. RetainBounds are for all ranges of the cluster together. A range refuses what does not fit beside the contents of all others as far as they
   * are known here, so all together may exceed a limit by what is stored until the others have learned of it. The rate of the sweep is the node's: one range has its turn
   * at each interval.
   * Failure: an error of a range only affects its own topics.
   *
   * Meters are those of the ranges that are led here. They are there while the node leads one.
   */
  private final RetainSettings settings;
  private final MeterRegistry registry;
  private final InstantSource clock;
  private final ScheduledExecutorService scheduler;
  private final List<RetainRangeServer> servers = new CopyOnWriteArrayList<>();
  private final TenantRoom tenants = new TenantRoom();
  private volatile HeapGuard heap = HeapGuard.OFF;

  @GuardedBy("this")
  private @Nullable RetainMeters meters;

  @GuardedBy("this")
  private @Nullable ScheduledFuture<?> ticks;

  private int turn; // used by the scheduler's thread only: the next range to sweep

  /** @param scheduler starts the removal of expired messages; the caller closes it */
  public RetainTier(RetainSettings settings, MeterRegistry registry, InstantSource clock, ScheduledExecutorService scheduler) {
    this.settings = settings;
    this.registry = registry;
    this.clock = clock;
    this.scheduler = scheduler;
  }

  /** What all other ranges have, as far as it is known. Answers at once, on any thread. */
  public interface Elsewhere {
    RetainRangeClient.Sums sums();

    /** What a tenant has there. */
    RetainRangeClient.Held of(String tenant);
  }

  /** Refuses new topics while this heap is full. */
  public void guard(HeapGuard of) {
    heap = of;
  }

  /** Sets how many topics with a message a tenant may have, and how many bytes these may have. Any thread. */
  public void limitTenants(TenantQuota messagesMax, TenantQuota bytesMax) {
    tenants.limit(messagesMax, bytesMax);
  }

  /** Serves a range for one leadership. */
  public synchronized Led lead(RetainReplica replica, Elsewhere elsewhere) {
    var counted = meters;
    if (counted == null) meters = counted = new RetainMeters(registry);
    var server = new RetainRangeServer(replica, tenants, elsewhere::of, clock, counted);
    if (servers.isEmpty()) {
      counted.show(servers, settings.bounds());
      long interval = settings.sweepInterval().toMillis();
      ticks = scheduler.scheduleWithFixedDelay(this::tick, interval, interval, TimeUnit.MILLISECONDS);
    }
    servers.add(server);
    return new Led(replica, server, elsewhere);
  }

  private synchronized void left(RetainRangeServer server) {
    server.close();
    if (!servers.remove(server) || !servers.isEmpty()) return;
    if (meters != null) meters.close();
    if (ticks != null) ticks.cancel(false);
  }

  /** Whether a range that this node leads stores nothing new, because the disk is nearly full. Any thread. */
  public boolean isDiskLow() {
    return servers.stream().anyMatch(server -> !server.hasDiskRoom());
  }

  private void tick() {
    var all = List.copyOf(servers);
    if (all.isEmpty()) return;
    turn = (turn + 1) % all.size();
    all.get(turn).sweepSoon(settings.sweepMessages());
  }

  /** A range that this node leads. */
  public final class Led implements RetainRangeClient, AutoCloseable {
    private final RetainReplica replica;
    private final RetainRangeServer server;
    private final Elsewhere elsewhere;

    private Led(RetainReplica replica, RetainRangeServer server, Elsewhere elsewhere) {
      this.replica = replica;
      this.server = server;
      this.elsewhere = elsewhere;
    }

    @Override
    public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
      assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
      if (!TopicKeys.hasKey(message)) return CompletableFuture.completedFuture(ReasonCode.TOPIC_NAME_INVALID);
      byte[] key = TopicKeys.of(message);
      var refused = replica.served().refusal(epoch, key, key.length);
      if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
      var answer = new CompletableFuture<ReasonCode>();
      var command = message.payloadLength() == 0 ? new Clear(key) : new Set(bounds(), message);
      server.change(epoch, command, Completion.of(answer));
      return answer;
    }

    @Override
    public CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message) {
      if (!TopicKeys.hasKey(message)) return CompletableFuture.completedFuture(Optional.of(ReasonCode.TOPIC_NAME_INVALID));
      byte[] key = TopicKeys.of(message);
      var refused = replica.served().refusal(epoch, key, key.length);
      if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
      var answer = new CompletableFuture<Optional<ReasonCode>>();
      server.add(epoch, message, bounds(), Completion.of(answer));
      return answer;
    }

    /** The limits of this range beside what the others have. */
    private RetainBounds bounds() {
      var most = settings.bounds();
      var others = elsewhere.sums();
      var left =
          new RetainBounds(
              Math.max(0, most.messagesMax() - others.messages()),
              Math.max(0, most.topicBytesMax() - others.topicBytes()),
              Math.max(0, most.bytesMax() - others.bytes()));
      return heap.isFull() ? left.withoutNewTopics() : left;
    }

    @Override
    public CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
      var seek = TopicKeys.seek(tenant, filter, after);
      var refused = replica.served().refusal(epoch, seek.target(), seek.targetLength());
      if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
      return replica.served().readBarrier().thenCompose(_ -> server.find(epoch, seek, messagesMax, bytesMax));
    }

    @Override
    public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
      if (max < 1) throw new IllegalArgumentException("a listing of " + max + " rows");
      var refused = replica.served().refusal(epoch, from, from.length);
      if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
      return replica.served().readBarrier().thenCompose(_ -> server.list(epoch, prefix, from, max));
    }

    @Override
    public CompletableFuture<Sums> sums() {
      return CompletableFuture.completedFuture(replica.messages().sums());
    }

    @Override
    public CompletableFuture<List<Held>> held(List<String> names) {
      return CompletableFuture.completedFuture(names.stream().map(replica.messages().tenants()::of).toList());
    }

    /** Ends the leadership's server. The range itself goes on as a follower. */
    @Override
    public void close() {
      left(server);
    }
  }
}
