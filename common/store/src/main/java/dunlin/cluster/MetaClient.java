package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.CutIs;
import dunlin.cluster.call.ClusterAnswer.NotLeading;
import dunlin.cluster.call.ClusterAnswer.ProgressIs;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterCall.AskProgress;
import dunlin.cluster.call.ClusterCall.FindCut;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.Seeds;
import dunlin.placement.Progress;
import dunlin.store.StoreException;
import java.io.IOException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the leader of the meta group: from the last answer, the group's peers in the known map, and the seeds. */
final class MetaClient {
  /*
   * Owner: any thread that may block.
   * Bounds: each address once for each question, within the question's deadline; SILENT_MAX addresses are remembered.
   * Failure: an address that cannot be called is asked last from then on, until it answers. One that does not reply
   * uses up its whole time, and must not use up that of the next call too. Where others shall be asked in time, it then gets a quarter of it, and each
   * fourth time the whole: it may only be slow.
   */
  private static final int SILENT_MAX = 256;
  private static final int SILENT_SHARE = 4;
  private static final Logger log = LoggerFactory.getLogger(MetaClient.class);
  private static final Duration PROGRESS_DEADLINE = Duration.ofSeconds(2);
  private static final Duration CUT_DEADLINE = Duration.ofSeconds(10);

  private final UUID cluster;
  private final NodeAddress self;
  private final KnownMap known;
  private final Seeds seeds;
  private final NodeCalls calls;
  private final Function<ClusterCall, ClusterAnswer> here;

  /** How many calls an address has not answered, one after the other. */
  private final Map<NodeAddress, Integer> silent = new ConcurrentHashMap<>();

  private final LongSupplier nanoTime;
  private volatile @Nullable NodeAddress leader;

  /** @param here answers calls on this node itself */
  MetaClient(
      UUID cluster, NodeAddress self, KnownMap known, Seeds seeds, NodeCalls calls, Function<ClusterCall, ClusterAnswer> here,
      LongSupplier nanoTime) {
    this.cluster = cluster;
    this.self = self;
    this.known = known;
    this.seeds = seeds;
    this.calls = calls;
    this.here = here;
    this.nanoTime = nanoTime;
  }

  /** Asks the leader; the answer is never {@link NotLeading}. */
  ClusterAnswer ask(ClusterCall call, Duration deadline) throws IOException {
    return ask(call, deadline, deadline);
  }

  /**
   * The same.
   *
   * @param each how long one address may take. For a question that every leader can answer at once: the last leader may
   *     stand still while another one already leads
   */
  ClusterAnswer ask(ClusterCall call, Duration deadline, Duration each) throws IOException {
    long until = nanoTime.getAsLong() + deadline.toNanos();
    var asked = new HashSet<NodeAddress>();
    var next = new ArrayDeque<NodeAddress>();
    var last = leader;
    if (last != null) next.add(last);
    next.add(self);
    peers(next);
    var failure = new IOException("this node can reach no leader of the meta group");
    var later = new ArrayDeque<NodeAddress>();
    boolean seeded = false;
    while (true) {
      var address = next.poll();
      if (address == null && !seeded) {
        seeded = true;
        seeds(next, failure);
        continue;
      }
      if (address != null && silent.containsKey(address)) {
        later.add(address);
        continue;
      }
      if (address == null) address = later.poll();
      if (address == null) throw failure;
      if (!asked.add(address)) continue;
      long left = until - nanoTime.getAsLong();
      if (left <= 0) throw failure;
      try {
        boolean briefly = each.compareTo(deadline) < 0 && silent.getOrDefault(address, 0) % SILENT_SHARE > 0;
        long most = briefly ? each.toNanos() / SILENT_SHARE : each.toNanos();
        var answered = call(address, call, Duration.ofNanos(Math.min(left, most)));
        silent.remove(address);
        switch (answered) {
          case NotLeading(var hint) -> {
            if (address.equals(leader)) leader = null;
            if (hint != null) next.addFirst(hint);
          }
          case Refused(var sentence) -> failure.addSuppressed(new IOException(address + ": " + sentence));
          case ClusterAnswer answer -> {
            leader = address;
            return answer;
          }
        }
      } catch (IOException e) {
        if (address.equals(leader)) leader = null;
        if (silent.size() >= SILENT_MAX) silent.clear();
        silent.merge(address, 1, Integer::sum);
        failure.addSuppressed(e);
      }
    }
  }

  /** How far each operation has come, as the meta group's leader sees it; empty when it does not say. */
  NavigableMap<UUID, Progress> progress() {
    if (known.map().intents().isEmpty()) return Collections.emptyNavigableMap();
    try {
      if (ask(new AskProgress(), PROGRESS_DEADLINE) instanceof ProgressIs(var operations)) return operations;
    } catch (IOException e) {
      log.debug("No leader of the meta group has said how far operations have come: {}", e.getMessage());
    }
    return Collections.emptyNavigableMap();
  }

  /**
   * A key at which a range can be split, as its leader has found it now.
   *
   * @throws StoreException when there is none, or the leader does not answer
   */
  byte[] cut(UUID range, UUID leader) {
    var address = known.service(leader).orElseThrow(() -> new StoreException("it is not known where node " + leader + " is, which leads range " + range));
    try {
      return switch (call(address, new FindCut(range), CUT_DEADLINE)) {
        case CutIs(var key) -> key;
        case Refused(var sentence) -> throw new StoreException("no cut was found: " + sentence);
        case ClusterAnswer other -> throw new StoreException("no cut was found: answered by " + other);
      };
    } catch (IOException e) {
      throw new StoreException("node " + leader + ", which leads range " + range + ", has not said where it can be split: " + e.getMessage(), e);
    }
  }

  /** Asks one node. */
  ClusterAnswer call(NodeAddress address, ClusterCall call, Duration deadline) throws IOException {
    if (address.equals(self)) return here.apply(call);
    return exchange(calls, address, new ClusterWire.Sent(cluster, call), deadline);
  }

  static ClusterAnswer exchange(NodeCalls calls, NodeAddress address, ClusterWire.Sent sent, Duration deadline)
      throws IOException {
    byte[] answer = calls.call(address, ClusterWire.bytes(sent), deadline);
    try {
      return ClusterWire.answer(answer);
    } catch (IllegalStateException e) {
      throw new IOException(address + " sent an unreadable answer: " + e.getMessage(), e);
    }
  }

  private void peers(ArrayDeque<NodeAddress> to) {
    var meta = known.map().ranges().get(MetaRange.ID.uuid());
    if (meta == null) return;
    meta.range().peers().stream().map(known::service).flatMap(Optional::stream).forEach(to::add);
  }

  private void seeds(ArrayDeque<NodeAddress> to, IOException failure) {
    try {
      to.addAll(seeds.resolve());
    } catch (UnknownHostException e) {
      failure.addSuppressed(e);
    }
  }
}
