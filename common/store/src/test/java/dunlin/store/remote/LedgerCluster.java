package dunlin.store.remote;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.serve.LocalRange;
import dunlin.store.serve.LocalRanges;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.RangeReply;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.snapshot.SnapshotSource;
import dunlin.store.snapshot.LocalSnapshots;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Nodes with a store service each, over ledgers in the place of replicated logs: a ledger applies the commands of its
 * leader, one after the other. The test moves leaders, changes epochs and makes nodes hold commands.
 */
final class LedgerCluster implements AutoCloseable {
  /** The commands that one range has applied: their identifiers, in order. */
  final class Ledger {
    final UUID range;
    final List<Long> applied = new ArrayList<>();
    long epoch = 1;
    byte[] from = new byte[0];
    byte @Nullable [] to;
    @Nullable Node leader;
    boolean tellsLeader = true;
    int refuseOverloaded;

    Ledger(UUID range) {
      this.range = range;
    }

    private RangeLocation location() {
      return new RangeLocation(range, epoch, from, to, peers(), leader == null || !tellsLeader ? null : leader.id);
    }
  }

  /** A command that a node has accepted and not applied. */
  private record Taken(Ledger ledger, long command, Consumer<RangeReply> reply) {}

  /** One node: accepts commands on event loops, and applies them on a thread of its own. */
  final class Node implements LocalRanges, LocalSnapshots {
    final UUID id;
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ArrayDeque<Taken> taken = new ArrayDeque<>();
    private final ExecutorService applier = Executors.newSingleThreadExecutor();
    private @Nullable RangeService service;
    int port;
    boolean holds;
    int takenMost;
    int currentSnapshots;
    /** The files of the only snapshot. */
    final Map<String, byte[]> snapshot = new ConcurrentHashMap<>();

    Node(UUID id) {
      this.id = id;
    }

    RangeService service() {
      if (service == null) throw new IllegalStateException("not started");
      return service;
    }

    int waiting() {
      synchronized (lock) {
        return taken.size();
      }
    }

    /** Accepts commands and does not apply them. */
    void hold() {
      synchronized (lock) {
        holds = true;
      }
    }

    void release() {
      synchronized (lock) {
        holds = false;
      }
      applier.execute(this::applyAll);
    }

    @Override
    public Optional<LocalRange> find(UUID range) {
      synchronized (lock) {
        var ledger = ledgers.get(range);
        return ledger == null ? Optional.empty() : Optional.of(new Replica(this, ledger));
      }
    }

    @Override
    public SnapshotSource.Snapshot openSnapshot(RangeId range) {
      if (!range.equals(RangeId.firstOf("ledger"))) throw new StoreException("range '" + range + "' has no replica here");
      var files = new ArrayList<SnapshotSource.File>();
      snapshot.forEach((name, bytes) -> files.add(new SnapshotSource.File(name, bytes.length, Arrays.hashCode(bytes))));
      return new SnapshotSource.Snapshot(id, files);
    }

    @Override
    public SnapshotSource.Snapshot openCurrentSnapshot(RangeId range) {
      var opened = openSnapshot(range);
      currentSnapshots++;
      return opened;
    }

    @Override
    public byte[] readSnapshot(UUID opened, String file, long offset, int bytes) {
      var content = snapshot.get(file);
      if (!opened.equals(id) || content == null || offset < 0 || offset > content.length - bytes)
        throw new StoreException("snapshot " + opened + " has no " + bytes + " bytes at " + offset + " of '" + file + "'");
      return Arrays.copyOfRange(content, (int) offset, (int) offset + bytes);
    }

    private void applyAll() {
      while (true) {
        Taken next;
        int position;
        synchronized (lock) {
          if (holds || taken.isEmpty()) return;
          next = taken.remove();
          next.ledger().applied.add(next.command());
          position = next.ledger().applied.size();
        }
        next.reply().accept(new RangeReply.Done(ByteBuffer.allocate(4).putInt(position).array()));
      }
    }
  }

  private final class Replica implements LocalRange {
    private final Node node;
    private final Ledger ledger;

    Replica(Node node, Ledger ledger) {
      this.node = node;
      this.ledger = ledger;
    }

    @Override
    public RangeLocation location() {
      synchronized (lock) {
        return ledger.location();
      }
    }

    @Override
    public void propose(long epoch, ByteBuffer command, Consumer<RangeReply> reply) {
      var refusal = refusal(epoch);
      if (refusal == null) {
        synchronized (lock) {
          // Only the first bytes: the rest is padding.
          node.taken.add(new Taken(ledger, command.getLong(), reply));
          node.takenMost = Math.max(node.takenMost, node.taken.size());
        }
        node.applier.execute(node::applyAll);
      } else {
        reply.accept(refusal);
      }
    }

    @Override
    public void barrier(long epoch, Consumer<RangeReply> reply) {
      var refusal = refusal(epoch);
      if (refusal == null) node.applier.execute(() -> reply.accept(new RangeReply.Done(new byte[0])));
      else reply.accept(refusal);
    }

    private @Nullable RangeReply refusal(long epoch) {
      synchronized (lock) {
        if (epoch != ledger.epoch) return new RangeReply.WrongEpoch(ledger.location());
        if (ledger.leader != node) return new RangeReply.NotLeader(ledger.leader == null || !ledger.tellsLeader ? null : ledger.leader.id);
        if (ledger.refuseOverloaded > 0) {
          ledger.refuseOverloaded--;
          return new RangeReply.Overloaded();
        }
        return null;
      }
    }
  }

  private final Object lock = new Object();
  private final Map<UUID, Ledger> ledgers = new HashMap<>();
  private final List<Node> nodes = new ArrayList<>();

  static LedgerCluster start(int count) {
    return start(count, RangeServiceSettings.defaults(), null);
  }

  static LedgerCluster start(int count, RangeServiceSettings settings, @Nullable ServiceTls tls) {
    var cluster = new LedgerCluster();
    for (int i = 0; i < count; i++) {
      var node = cluster.new Node(new UUID(1, i));
      cluster.serve(node, settings, tls, 0);
      cluster.nodes.add(node);
    }
    return cluster;
  }

  private void serve(Node node, RangeServiceSettings settings, @Nullable ServiceTls tls, int port) {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    node.service = RangeService.start(address, node.id, node, node, settings, tls, node.meters, System::nanoTime);
    node.port = node.service().port();
  }

  /** Restarts a node's closed or aborted service at its address. */
  void restart(Node node) {
    serve(node, RangeServiceSettings.defaults(), null, node.port);
  }

  Node node(int index) {
    return nodes.get(index);
  }

  List<RangeLocation.Peer> peers() {
    return nodes.stream().map(node -> new RangeLocation.Peer(node.id, "localhost", node.port)).toList();
  }

  Ledger ledger(int number, Node leader) {
    synchronized (lock) {
      var ledger = new Ledger(new UUID(2, number));
      ledger.leader = leader;
      ledgers.put(ledger.range, ledger);
      return ledger;
    }
  }

  RangeLocation location(Ledger ledger) {
    synchronized (lock) {
      return ledger.location();
    }
  }

  List<Long> applied(Ledger ledger) {
    synchronized (lock) {
      return List.copyOf(ledger.applied);
    }
  }

  /** The leader steps down: a part of its accepted commands is committed with an unknown outcome; it refuses the rest. */
  void moveLeader(Ledger ledger, @Nullable Node to, boolean tellsLeader, Random random) {
    var unknown = new ArrayList<Taken>();
    var refused = new ArrayList<Taken>();
    synchronized (lock) {
      var old = ledger.leader;
      ledger.leader = to;
      ledger.tellsLeader = tellsLeader;
      if (old == null || old == to) return;
      var waiting = old.taken.stream().filter(taken -> taken.ledger() == ledger).toList();
      old.taken.removeAll(waiting);
      int inLog = random.nextInt(waiting.size() + 1);
      int committed = random.nextInt(inLog + 1);
      for (int i = 0; i < waiting.size(); i++) {
        if (i < committed) ledger.applied.add(waiting.get(i).command());
        (i < inLog ? unknown : refused).add(waiting.get(i));
      }
    }
    unknown.forEach(taken -> taken.reply().accept(new RangeReply.Unknown("the leader stepped down")));
    refused.forEach(taken -> taken.reply().accept(new RangeReply.NotLeader(to == null || !tellsLeader ? null : to.id)));
  }

  void change(Ledger ledger, Consumer<Ledger> change) {
    synchronized (lock) {
      change.accept(ledger);
    }
  }

  @Override
  public void close() {
    for (var node : nodes) {
      node.release();
      node.service().close();
      node.applier.shutdown();
      try {
        if (!node.applier.awaitTermination(120, TimeUnit.SECONDS)) throw new AssertionError("an applier goes on");
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
