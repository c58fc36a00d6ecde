package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.KeyInterval;
import dunlin.store.NotLeaderException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranges of a cluster over a real log and a real RocksDB, which are split while they are served. */
class RetainTierTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final RangeId PARENT = RangeId.firstOf(RetainReplica.KIND);
  private static final RangeId CHILD = RangeId.numbered(RetainReplica.KIND, 1);
  private static final RangeId OTHER = RangeId.numbered(RetainReplica.KIND, 2);

  @TempDir Path directory;
  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final AtomicReference<Instant> now = new AtomicReference<>(Instant.ofEpochMilli(1_000));
  private final AtomicReference<Sums> elsewhere = new AtomicReference<>(Sums.NONE);
  private final AtomicReference<Held> tenantElsewhere = new AtomicReference<>(Held.NONE);
  private final RetainTier tier =
      new RetainTier(new RetainSettings(new RetainBounds(1_000, 100_000, 1_000_000), Duration.ofMillis(5), 100), meters, now::get, scheduler);
  private RangeStore store;
  private Replica<RetainCommand, RetainResult> parent;
  private RetainTier.Led led;
  private RetainReplica other;

  /** Before the proof that the other range is led here. */
  private CompletableFuture<@Nullable Void> held = CompletableFuture.completedFuture(null);

  @BeforeEach
  void start() {
    store = RangeStore.open(StoreSettings.defaults(), directory, meters);
    var messages = new RetainRange();
    parent = store.range(descriptor(PARENT), new RetainCodec(), messages);
    led = tier.lead(RetainReplica.placed(parent, messages), others());
    var others = new RetainRange();
    other = RetainReplica.placed(held(store.range(descriptor(OTHER), new RetainCodec(), others)), others);
    store.start(LONG);
    await().atMost(LONG).until(() -> set(led, 1, "first", "1") == ReasonCode.SUCCESS);
  }

  /** The replica, whose read barriers wait for the test too. */
  @SuppressWarnings("unchecked")
  private Replica<RetainCommand, RetainResult> held(Replica<RetainCommand, RetainResult> replica) {
    return (Replica<RetainCommand, RetainResult>)
        Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {Replica.class},
            (_, method, arguments) -> method.getName().equals("readBarrier") ? held.thenCompose(_ -> replica.readBarrier()) : method.invoke(replica, arguments));
  }

  private RetainTier.Elsewhere others() {
    return new RetainTier.Elsewhere() {
      @Override
      public Sums sums() {
        return elsewhere.get();
      }

      @Override
      public Held of(String tenant) {
        return tenantElsewhere.get();
      }
    };
  }

  @AfterEach
  void close() {
    led.close();
    store.close();
    await().atMost(LONG).until(() -> !Files.exists(directory.resolve("lock.owner"))); // it may stop for a moment longer, and writes into its directory
    scheduler.shutdownNow();
  }

  private RangeDescriptor descriptor(RangeId range) {
    return new RangeDescriptor(range.uuid(), RetainReplica.KIND, KeyInterval.all(), 1, List.of(store.member().node()), null);
  }

  private static ReasonCode set(RetainTier.Led to, long epoch, String topic, String payload) {
    return set(to, epoch, Messages.message(topic, payload));
  }

  private static ReasonCode set(RetainTier.Led to, long epoch, Publication message) {
    return to.set(epoch, message).orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join();
  }

  /** The topics that one range finds, by pages. */
  private static Set<String> find(RetainTier.Led from, long epoch, KeyInterval keys) {
    var found = new TreeSet<String>();
    @Nullable Cursor after = keys.start().length == 0 ? null : new Cursor(keys.start());
    do {
      Page page = from.find(epoch, Messages.TENANT, "#", after, 7, 1_000).orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join();
      page.messages().forEach(message -> found.add(message.topic()));
      after = page.next();
    } while (after != null && keys.contains(after.key()));
    return found;
  }

  private static byte[] key(String topic) {
    return TopicKeys.of(Messages.TENANT, topic);
  }

  @Test
  void onAFullHeapOnlyTopicsThatHaveAMessageGetOne() {
    var heap = new HeapGuard(() -> new HeapGuard.Found(0.9, HeapGuard.Found.EXACT, 0), 80);
    heap.look();
    tier.guard(heap);

    assertThat(set(led, 1, "second", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(led, 1, "first", "2")).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aRangeThatIsSplitServesWhatItKeepsAtItsNextEpoch() {
    for (String topic : List.of("a", "b", "m", "n", "z")) set(led, 1, topic, "1");
    parent.split(1, key("m"), CHILD.uuid(), LONG);

    assertThatThrownBy(() -> set(led, 1, "a", "2")).isInstanceOf(CompletionException.class).hasCauseInstanceOf(WrongEpochException.class);
    assertThatThrownBy(() -> find(led, 1, KeyInterval.all())).hasCauseInstanceOf(WrongEpochException.class);
    assertThatThrownBy(() -> set(led, 2, "z", "2")).hasCauseInstanceOf(StoreException.class).hasMessageContaining("a topic of another range");
    assertThatThrownBy(() -> set(led, 3, "a", "2")).as("an epoch that is not known here yet").hasCauseInstanceOf(NotLeaderException.class);
    assertThatThrownBy(() -> find(led, 3, KeyInterval.all())).hasCauseInstanceOf(NotLeaderException.class);
    var lower = KeyInterval.all().below(key("m"));
    assertThat(find(led, 2, lower)).containsExactly("a", "b", "first");
    assertThat(set(led, 2, "c", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(led.sums().join().messages()).isEqualTo(4);
  }

  @Test
  void metersAreOfAllRangesThatTheNodeLeads() {
    try (var second = tier.lead(other, others())) {
      await().atMost(LONG).until(() -> set(second, 1, "a", "1") == ReasonCode.SUCCESS);
      set(second, 1, "b", "1");
      assertThat(find(second, 1, KeyInterval.all())).containsExactly("a", "b");
      assertThat(find(led, 1, KeyInterval.all())).containsExactly("first");
      assertThat(meters.get("dunlin.retain.messages").gauge().value()).isEqualTo(3);
    }
    assertThat(meters.get("dunlin.retain.messages").gauge().value()).isEqualTo(1);
    led.close();
    assertThat(meters.find("dunlin.retain.messages").gauge()).as("the node leads none").isNull();
  }

  /** Another node may lead the range by now, and have other messages. */
  @Test
  void nothingIsReadWithoutAProofThatTheRangeIsLedHere() {
    try (var second = tier.lead(other, others())) {
      await().atMost(LONG).until(() -> set(second, 1, "a", "1") == ReasonCode.SUCCESS);
      byte[] all = key("");
      held = new CompletableFuture<>();
      var page = second.find(1, Messages.TENANT, "#", null, 10, 1_000);
      var rows = second.list(1, all, all, 10);
      assertThat(page).isNotDone();
      assertThat(rows).isNotDone();

      held.complete(null);
      assertThat(page).succeedsWithin(LONG).satisfies(it -> assertThat(it.messages()).extracting(Publication::topic).containsExactly("a"));
      assertThat(rows).succeedsWithin(LONG).satisfies(it -> assertThat(it.rows()).hasSize(1));

      held = CompletableFuture.failedFuture(new NotLeaderException(RetainReplica.KIND, Optional.empty()));
      assertThatThrownBy(() -> find(second, 1, KeyInterval.all())).hasCauseInstanceOf(NotLeaderException.class);
      assertThatThrownBy(() -> second.list(1, all, all, 10).join()).hasCauseInstanceOf(NotLeaderException.class);
    }
  }

  @Test
  void listingsEndAtTheCutAndGoOnBehindIt() {
    for (String topic : List.of("a/1", "a/2", "a/3", "b/1")) set(led, 1, topic, "1");
    parent.split(1, key("a/3"), CHILD.uuid(), LONG);
    byte[] prefix = key("a/");

    var first = led.list(2, prefix, prefix, 1).join();
    assertThat(first.rows()).extracting(row -> TopicKeys.topic(row.key())).containsExactly("a/1");
    var rest = led.list(2, prefix, Objects.requireNonNull(first.next()), 10).join();
    assertThat(rest.rows()).extracting(row -> TopicKeys.topic(row.key())).containsExactly("a/2");
    assertThat(rest.next()).isEqualTo(key("a/3"));
    assertThat(led.list(2, key("b/"), key("a/2"), 10).join().next()).as("no key behind the cut begins so").isNull();
    assertThatThrownBy(() -> led.list(1, prefix, prefix, 1).join()).hasCauseInstanceOf(WrongEpochException.class);
  }

  /** No page misses rows that a split takes away while it is read. */
  @Test
  void aPageIsOfOneEpoch() {
    var topics = new TreeSet<String>();
    IntStream.range(0, 300).forEach(i -> topics.add("t/" + (1_000 + i)));
    topics.forEach(topic -> set(led, 1, topic, "1"));
    topics.add("first");
    var whole = KeyInterval.all();
    assertThat(find(led, 1, whole)).isEqualTo(topics);
    try (var splitting = Executors.newSingleThreadExecutor()) {
      var split = splitting.submit(() -> parent.split(1, key("t/1150"), CHILD.uuid(), LONG));
      int pages = 0;
      boolean refused = false;
      while (!refused) {
        try {
          assertThat(find(led, 1, whole)).as("after %d times", pages++).isEqualTo(topics);
        } catch (CompletionException e) {
          assertThat(e).hasCauseInstanceOf(WrongEpochException.class);
          refused = true;
        }
      }
      assertThat(split).succeedsWithin(LONG);
    }
    assertThat(find(led, 2, whole.below(key("t/1150")))).isEqualTo(topics.headSet("t/1150"));
  }

  @Test
  void limitsAreThoseOfAllRangesTogether() {
    elsewhere.set(new Sums(997, 0, 0));
    assertThat(set(led, 1, "second", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 1, "third", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 1, "fourth", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(led, 1, "third", "")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 1, "fourth", "1")).isEqualTo(ReasonCode.SUCCESS);

    elsewhere.set(new Sums(0, 200_000, 0));
    assertThat(set(led, 1, "fifth", "1")).as("others have more than all may have").isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    elsewhere.set(new Sums(0, 0, 2_000_000));
    assertThat(set(led, 1, "second", "longer than before, so it needs room")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void aTenantsLimitIsForAllRangesAndWhatASplitTakesAwayIsCountedThere() {
    var quota = new SetQuota();
    tier.limitTenants(quota.of(Messages.TENANT, 4), TenantQuota.UNLIMITED);
    for (String topic : List.of("a", "y", "z")) assertThat(set(led, 1, topic, "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 1, "b", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(led, 1, "a", "2")).as("one that is there").isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 1, Messages.message("other", "b", "1"))).as("another tenant").isEqualTo(ReasonCode.SUCCESS);
    assertThat(quota.reached()).isEqualTo(1);

    parent.split(1, key("m"), CHILD.uuid(), LONG);
    assertThat(led.held(List.of(Messages.TENANT, "other", "none")).join()).extracting(Held::messages).containsExactly(2L, 1L, 0L);
    tenantElsewhere.set(new Held(2, 100));
    assertThat(set(led, 2, "b", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    tenantElsewhere.set(new Held(1, 100));
    assertThat(set(led, 2, "b", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(led, 2, "c", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void expiredMessagesAreRemovedAtEachEpoch() {
    long nowMillis = now.get().toEpochMilli();
    set(led, 1, Messages.expiring("a", "1", nowMillis, 10));
    parent.split(1, key("m"), CHILD.uuid(), LONG);
    set(led, 2, Messages.expiring("b", "1", nowMillis, 10));
    assertThat(led.sums().join().messages()).isEqualTo(3);

    now.set(now.get().plusSeconds(11));

    await().atMost(LONG).until(() -> led.sums().join().messages() == 1);
  }

  @Test
  void badCallsAreRefused() {
    assertThatThrownBy(() -> led.find(1, Messages.TENANT, "#", null, 0, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> led.find(1, Messages.TENANT, "a/#/b", null, 1, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> led.list(1, new byte[0], new byte[0], 0)).isInstanceOf(IllegalArgumentException.class);
  }
}
