package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.CommandCodec;
import dunlin.store.Member;
import dunlin.store.OutdatedException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.RatisPeers;
import dunlin.store.disk.RocksMemory;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.node.RaftNode;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftPeer;
import org.jspecify.annotations.Nullable;

/** The replicas of a node, and their creation and removal while the store runs. */
final class LocalReplicaSet {
  /*
   * Owner: a thread that creates or deletes a replica holds `creating` and may block; the list is read by any thread.
   * Bounds: as many as the cluster places here.
   * Failure: each creation documents what it leaves behind; what a crash interrupts is completed or deleted at the next
   * opening of the directory.
   */
  private static final String BEAN_TYPE = "Range";
  /** For closing a replica that is replaced because it was damaged. */
  private static final Duration RELEASE_DEADLINE = Duration.ofSeconds(3);

  private final StoreSettings settings;
  private final DataDirectory data;
  private final DiskSpace disk;
  private final SnapshotSource source;
  private final MeterRegistry meters;
  private final CompletableFuture<RocksMemory> memory;
  private final Function<String, Executor> threads;
  private final Consumer<RangeDescriptor> onSplit;
  private final Consumer<StoreException> onFailure;
  private final List<ReplicatedRange<?, ?>> ranges = new CopyOnWriteArrayList<>();
  private final Object creating = new Object();

  /** Ranges that were split off here and whose start has failed: the next call of {@link #startSplit} goes on with their files. */
  @GuardedBy("creating")
  private final Set<RangeId> halfStarted = new HashSet<>();

  @GuardedBy("creating")
  private @Nullable NodeBeans beans;

  /** @param threads runs each task on a new thread with the given name */
  LocalReplicaSet(
      StoreSettings settings,
      DataDirectory data,
      DiskSpace disk,
      SnapshotSource source,
      MeterRegistry meters,
      CompletableFuture<RocksMemory> memory,
      Function<String, Executor> threads,
      Consumer<RangeDescriptor> onSplit,
      Consumer<StoreException> onFailure) {
    this.settings = settings;
    this.data = data;
    this.disk = disk;
    this.source = source;
    this.meters = meters;
    this.memory = memory;
    this.threads = threads;
    this.onSplit = onSplit;
    this.onFailure = onFailure;
  }

  /** A live view of the replicas. */
  List<ReplicatedRange<?, ?>> all() {
    return Collections.unmodifiableList(ranges);
  }

  @Nullable ReplicatedRange<?, ?> find(RangeId id) {
    for (var range : ranges) if (range.id().equals(id)) return range;
    return null;
  }

  <C, R> ReplicatedRange<C, R> declare(
      RangeId id, List<RaftPeer> peers, CommandCodec<C> codec, RangeLogic<C, R> logic, @Nullable RangeDescriptor initial) {
    if (peers.size() > 1 && !settings.cluster().hasPeers())
      throw new IllegalArgumentException("range '" + id + "' has other peers, and this node no cluster port");
    for (var other : ranges)
      if (other.id().equals(id)) throw new IllegalArgumentException("range '" + id + "' is there already");
    var range =
        new ReplicatedRange<>(
            id, peers, settings, data, disk, source, new RangeMeters(meters, id), codec, logic, initial, onSplit, onFailure);
    ranges.add(range);
    return range;
  }

  /** {@link RangeStore#startSplit}. */
  <C, R> Replica<C, R> startSplit(
      RaftNode serving, RangeId id, List<Member> peers, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    synchronized (creating) {
      boolean begun = Files.exists(data.raft(id)) && Files.exists(data.rows(id));
      var unstarted = data.unstarted().stream().filter(waits -> waits.id().equals(id.uuid())).findFirst();
      if (find(id) != null || (!begun && unstarted.isEmpty()))
        throw new OutdatedException("range '" + id + "' was not split off here, or has been started");
      var initial = RatisPeers.voters(peers);
      var range = declare(id, initial, codec, logic, null);
      boolean opens = false;
      try {
        if (!begun) GroupStorage.create(data.raft(id), initial);
        data.notes().write(id, true);
        Files.deleteIfExists(new RowsDirectory(data.rows(id)).splitNote());
        var origin = unstarted.flatMap(RangeDescriptor::origin);
        opens = true;
        range.open(memory, threads.apply("open-" + id), origin.isEmpty() ? null : find(new RangeId(id.kind(), origin.get().parent())));
        awaitRows(range, deadline);
        serving.add(RaftGroup.valueOf(range.group(), initial), deadline);
        range.startProposing(serving.server());
        show(range);
        halfStarted.remove(id);
        return range;
      } catch (IOException | RuntimeException e) {
        var failure =
            e instanceof StoreException known
                ? known
                : new StoreException("range '" + id + "': it cannot be started: " + e.getMessage(), e);
        // Its files stay: they are its only rows here, and the next call goes on with them. Once Ratis has the group, or while the rows are still
        // being opened, only a restart can try again.
        if (serving.groups().contains(range.group()) || (opens && !range.opening().isDone())) {
          range.failed(failure);
        } else {
          release(range);
          halfStarted.add(id);
        }
        throw failure;
      }
    }
  }

  /** Waits for the rows before Ratis has the group: when a state machine fails to start there, Ratis keeps the lock of the group's directory. */
  private static void awaitRows(ReplicatedRange<?, ?> range, Duration deadline) {
    try {
      if (!RangeStore.ended(range.opening(), System.nanoTime() + deadline.toNanos()))
        throw new StoreException("range '" + range.id() + "': its rows are not open after " + deadline);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while the rows of range '" + range.id() + "' were opened", e);
    }
    if (range.opening().isCompletedExceptionally() && range.opening().exceptionNow() instanceof StoreException failed) throw failed;
  }

  /** {@link RangeStore#createRange}. */
  <C, R> Replica<C, R> create(RaftNode serving, RangeDescriptor first, Member self, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return create(serving, new RangeId(first.kind(), first.id()), List.of(self), false, first, codec, logic, deadline);
  }

  /** {@link RangeStore#createReplica}. */
  <C, R> Replica<C, R> create(
      RaftNode serving, RangeId id, List<Member> peers, boolean joining, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return create(serving, id, peers, joining, null, codec, logic, deadline);
  }

  /** @param first the descriptor of a range that begins with this replica, or null */
  private <C, R> Replica<C, R> create(
      RaftNode serving, RangeId id, List<Member> peers, boolean joining, @Nullable RangeDescriptor first, CommandCodec<C> codec, RangeLogic<C, R> logic,
      Duration deadline) {
    synchronized (creating) {
      boolean noted = data.notes().has(id);
      if (noted && !joining && !Files.exists(data.raft(id)))
        throw new StoreException("range '" + id + "' had a replica here that may have voted; it can only join it again");
      var former = find(id);
      if (former != null && former.quarantined()) release(former);
      // A replica that is not among the peers votes only once it has an entry of the leader's by which it is.
      var initial = RatisPeers.voters(joining ? others(peers) : peers);
      var range = declare(id, initial, codec, logic, first);
      boolean mayVote = false;
      try {
        synchronized (data) { // a split may be making rows of the same range right now
          if (Files.exists(data.raft(id)) || Files.exists(data.rows(id)))
            throw new OutdatedException("range '" + id + "' has a replica here already");
          GroupStorage.create(data.raft(id), initial);
        }
      } catch (IOException | RuntimeException e) {
        release(range);
        if (e instanceof StoreException known) throw known;
        throw new StoreException("range '" + id + "': no replica can be created here: " + e.getMessage(), e);
      }
      try {
        data.notes().write(id, first == null);
        range.open(memory, threads.apply("open-" + id), null);
        mayVote = !joining && first == null; // no other peer counts on its vote
        serving.add(RaftGroup.valueOf(range.group(), initial), deadline);
        range.startProposing(serving.server());
        show(range);
        return range;
      } catch (IOException | RuntimeException e) {
        try {
          discard(serving, range, !noted && !mayVote, deadline);
        } catch (StoreException more) {
          ranges.remove(range);
          hide(range);
          e.addSuppressed(more);
        }
        if (e instanceof StoreException known) throw known;
        throw new StoreException("range '" + id + "': no replica can be created here: " + e.getMessage(), e);
      }
    }
  }

  private List<Member> others(List<Member> peers) {
    return peers.stream().filter(peer -> !peer.node().equals(data.identity().nodeId())).toList();
  }

  /** {@link RangeStore#dropReplica}. */
  void drop(RaftNode serving, RangeId id, Duration deadline) {
    synchronized (creating) {
      var range = find(id);
      if (range == null) throw new StoreException("range '" + id + "' has no replica here");
      discard(serving, range, true, deadline);
    }
  }

  /** {@link RangeStore#dropUnstarted}. */
  void dropUnstarted(RangeId id) {
    synchronized (creating) {
      if (!halfStarted.contains(id) && data.unstarted().stream().noneMatch(waits -> waits.id().equals(id.uuid()))) return;
      data.beginDrop(id);
      data.delete(id, true);
      halfStarted.remove(id);
    }
  }

  /** @param forget whether to delete the note of the replica, too */
  @GuardedBy("creating")
  private void discard(RaftNode serving, ReplicatedRange<?, ?> range, boolean forget, Duration deadline) {
    long until = System.nanoTime() + deadline.toNanos();
    if (forget) data.beginDrop(range.id());
    try {
      boolean stopped = range.stop(until); // from now on the maintenance skips it
      serving.remove(range.group(), deadline);
      boolean closed = range.close(until);
      if (!stopped || !closed)
        throw new StoreException(
            "range '" + range.id() + "': its replica is still in use; the next start " + (forget ? "deletes it" : "serves it again"));
      data.delete(range.id(), forget);
      ranges.remove(range); // only now, so that a removal that timed out can be repeated
      hide(range);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while dropping the replica of range '" + range.id() + "'", e);
    }
  }

  @GuardedBy("creating")
  private void release(ReplicatedRange<?, ?> quarantined) {
    ranges.remove(quarantined);
    hide(quarantined);
    long until = System.nanoTime() + RELEASE_DEADLINE.toNanos();
    try {
      boolean stopped = quarantined.stop(until);
      boolean closed = quarantined.close(until);
      if (!stopped || !closed)
        throw new StoreException("range '" + quarantined.id() + "': its damaged replica is still in use");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while closing the damaged replica of range '" + quarantined.id() + "'", e);
    }
  }

  /** {@link RangeStore#show}. */
  void show(NodeBeans all) {
    synchronized (creating) {
      beans = all;
      ranges.forEach(this::show);
    }
  }

  @GuardedBy("creating")
  private void show(ReplicatedRange<?, ?> range) {
    var shown = beans;
    if (shown != null) shown.register(BEAN_TYPE, beanKeys(range), range.bean());
  }

  @GuardedBy("creating")
  private void hide(ReplicatedRange<?, ?> range) {
    var shown = beans;
    if (shown != null) shown.unregister(BEAN_TYPE, beanKeys(range));
  }

  private static Map<String, String> beanKeys(ReplicatedRange<?, ?> range) {
    return Map.of("range", range.id().toString());
  }
}
