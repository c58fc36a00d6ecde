package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.Completion;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLoad;
import dunlin.store.RangeReader;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LeaderMonitorTest {
  private static final UUID SELF = new UUID(0, 1);
  private static final UUID NEAR = new UUID(0, 2);
  private static final UUID FAR = new UUID(0, 3);
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Led led = new Led();
  private final LeaderMonitor monitor = new LeaderMonitor(led, SELF, new RangeMeters(meters, Trio.RANGE));

  /** A replica that leads until the leadership is transferred. */
  private static final class Led implements Replica<String, String> {
    private final List<UUID> transferred = new CopyOnWriteArrayList<>();
    private ReplicaRole role = ReplicaRole.LEADER;
    private long committed = 1000;
    private long nearLag;
    private long farLag;
    private Duration nearSilence = Duration.ZERO;
    private Duration farSilence = Duration.ZERO;

    /** How many transfers fail. */
    private final AtomicInteger refusals = new AtomicInteger();

    private int selfPriority;
    private final List<List<Member>> exchanged = new CopyOnWriteArrayList<>();

    @Override
    public RangeId id() {
      return Trio.RANGE;
    }

    @Override
    public Optional<UUID> leader() {
      return Optional.of(SELF);
    }

    @Override
    public RangeStatus status() {
      return new RangeStatus(
          id(), role, SELF, 1, committed, committed, 0, committed, 0, 0,
          List.of(peer(SELF, selfPriority, 0, null), peer(NEAR, 0, nearLag, nearSilence), peer(FAR, 0, farLag, farSilence)), 0);
    }

    private static RangeStatus.Peer peer(UUID node, int priority, long lag, @Nullable Duration silence) {
      return new RangeStatus.Peer(new Member(node, "localhost", 1), priority, lag, silence);
    }

    @Override
    public void transferLeadership(UUID node, Duration deadline) {
      transferred.add(node);
      if (refusals.getAndDecrement() > 0) throw new StoreException("the test has it fail");
    }

    @Override
    public CompletableFuture<@Nullable Void> readBarrier() {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void onLeadership(Consumer<Boolean> listener) {}

    @Override
    public void add(Member member, Duration deadline) {}

    @Override
    public Optional<RangeDescriptor> descriptor() {
      return Optional.empty();
    }

    @Override
    public boolean based() {
      return true;
    }

    @Override
    public long unflushedBytes() {
      return 0;
    }

    @Override
    public void flush() {}

    @Override
    public void elect() {}

    @Override
    public RangeLoad load() {
      throw new AssertionError();
    }

    @Override
    public boolean whenRoom(Runnable caller) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean propose(long epoch, String command, Completion<String> completion) {
      throw new AssertionError();
    }

    @Override
    public void split(long epoch, byte[] cut, UUID child, Duration deadline) {
      throw new AssertionError();
    }

    @Override
    public void changePeers(long configuration, List<Member> members, Duration deadline) {
      exchanged.add(members);
    }

    @Override
    public void remove(UUID node, Duration deadline) {}

    @Override
    public boolean propose(String command, Completion<String> completion) {
      return false;
    }

    @Override
    public RangeReader reader() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Executor readers() {
      return Runnable::run;
    }
  }

  private void transferredTo(UUID... nodes) {
    await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(led.transferred).containsExactly(nodes));
  }

  @Test
  void aStuckFollowerGetsAnotherLeaderOnceAfterAMinute() {
    led.farLag = 900;
    for (int second = 0; second < 60; second++, led.committed++, led.farLag++) monitor.look(false, false, second * SECOND);
    assertThat(led.transferred).isEmpty();

    for (int second = 60; second < 200; second++, led.committed++, led.farLag++) monitor.look(false, false, second * SECOND);

    transferredTo(NEAR);
    assertThat(meters.get("dunlin.store.followers.stuck").counter().count()).isEqualTo(1);
  }

  @Test
  void otherFollowersAreNotStuck() {
    led.farLag = 900;
    for (int second = 0; second < 200; second++, led.committed++) monitor.look(false, false, second * SECOND);
    led.farSilence = Duration.ofSeconds(30);
    for (int second = 200; second < 400; second++, led.committed++, led.farLag++) monitor.look(false, false, second * SECOND);
    led.farSilence = Duration.ZERO;
    for (int second = 400; second < 600; second++, led.committed++, led.farLag++) monitor.look(false, true, second * SECOND);
    led.farLag = 0;
    for (int second = 600; second < 800; second++) monitor.look(false, false, second * SECOND);

    assertThat(led.transferred).isEmpty();
    assertThat(meters.get("dunlin.store.followers.stuck").counter().count()).isZero();
  }

  @Test
  void onALowDiskTheLeadershipIsTransferredOnceToTheClosestFollower() {
    led.nearLag = 5;
    led.farLag = 0;
    led.farSilence = Duration.ofSeconds(30);
    for (int second = 0; second < 10; second++) monitor.look(true, false, second * SECOND);
    transferredTo(NEAR);

    monitor.look(false, false, 10 * SECOND);
    led.farSilence = Duration.ZERO;
    await().atMost(Trio.DEADLINE).untilAsserted(() -> {
      monitor.look(false, false, 11 * SECOND); // until the thread of the first transfer has ended
      monitor.look(true, false, 12 * SECOND);
      assertThat(led.transferred).startsWith(NEAR, FAR);
    });
  }

  /** Followers that are silent for a moment, and a transfer that fails. */
  @Test
  void onALowDiskItIsTriedEverMoreSeldomUntilItIsDone() {
    led.nearSilence = led.farSilence = Duration.ofSeconds(2);
    monitor.look(true, false, 0);
    led.nearSilence = Duration.ZERO;
    led.refusals.set(1);
    monitor.look(true, false, 10 * SECOND - 1);
    assertThat(led.transferred).isEmpty();

    monitor.look(true, false, 10 * SECOND);
    transferredTo(NEAR);
    monitor.look(true, false, 30 * SECOND - 1);
    assertThat(led.transferred).hasSize(1);
    var later = new AtomicLong(30 * SECOND);
    await()
        .atMost(Trio.DEADLINE)
        .untilAsserted(
            () -> {
              monitor.look(true, false, later.getAndAdd(20 * SECOND)); // until the thread of the first transfer has ended
              assertThat(led.transferred).containsExactly(NEAR, NEAR);
            });
    for (int minute = 1; minute < 60; minute++) monitor.look(true, false, later.get() + minute * (60 * SECOND));
    assertThat(led.transferred).as("once it is done").hasSize(2);
  }

  @Test
  void aNewLeaderDoesNotStayPreferredForEver() {
    led.selfPriority = 1;
    for (int second = 0; second < 30; second++) monitor.look(false, false, second * SECOND);
    assertThat(led.exchanged).as("the transfer to this node may not be complete yet").isEmpty();

    monitor.look(false, false, 30 * SECOND);
    await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(led.exchanged).hasSize(1));
    assertThat(led.exchanged.getFirst()).extracting(Member::node).containsExactly(SELF, NEAR, FAR);

    led.selfPriority = 0;
    for (int second = 31; second < 100; second++) monitor.look(false, false, second * SECOND);
    assertThat(led.exchanged).hasSize(1);
    assertThat(led.transferred).isEmpty();
  }

  @Test
  void onlyALeaderTransfersTheLeadership() {
    led.role = ReplicaRole.FOLLOWER;
    monitor.look(true, false, 0);
    led.role = ReplicaRole.LEADER;
    led.nearLag = 1_000_000;
    led.farLag = -1;
    monitor.look(true, false, SECOND);
    assertThat(led.transferred).as("no follower is close enough").isEmpty();
  }
}
