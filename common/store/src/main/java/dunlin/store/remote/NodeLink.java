package dunlin.store.remote;

import dunlin.store.remote.ClientMeters.Reason;
import dunlin.store.serve.RangeLocation;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The link to one node: the calls that wait for it, and its stream. */
final class NodeLink {
  /*
   * Owner: the client's thread; `load` is read by proposing threads.
   * Bounds: nodeRequestsMax calls wait or are in flight. Full: a proposal is refused, a retried call pauses first.
   * Failure: when a stream ends or cannot be opened, waiting calls go to other nodes, and the outcome of those in
   * flight is unknown. Until its next welcome the node counts as away, so that no call waits for it; it is tried again
   * after pauses, as long as calls would prefer it. A node that owes replies and is silent also counts as away for a
   * while, but may still answer; its stream ends when it does not answer a ping either.
   */
  private static final Logger log = LoggerFactory.getLogger(NodeLink.class);

  private static final long WANTED_NANOS = 2_000_000_000;

  private final RangeClient client;
  private final RangeLocation.Peer peer;
  private final Map<UUID, Source> pools = new HashMap<>();
  private final LinkedHashSet<Source> ready = new LinkedHashSet<>();

  private @Nullable LinkStream stream;
  private int failures; // since the last welcome
  private long againNanos; // after failures, not tried before this time
  private boolean suspected; // logged once since it was last heard
  private boolean silent;
  private long silentUntilNanos;
  private long wantedNanos;
  private final AtomicInteger load = new AtomicInteger();

  NodeLink(RangeClient client, RangeLocation.Peer peer) {
    this.client = client;
    this.peer = peer;
    wantedNanos = client.now();
  }

  RangeLocation.Peer peer() {
    return peer;
  }

  boolean full() {
    return load.get() >= client.settings().bounds().nodeRequestsMax();
  }

  /** Whether a call should avoid this node. */
  boolean away(long now) {
    wantedNanos = now;
    if (silent && now - silentUntilNanos >= 0) silent = false;
    return silent || failures > 0;
  }

  /** Adds a call that may overtake others. */
  void add(RemoteCall call) {
    assign(call);
    var pool = pools.computeIfAbsent(call.route.range, _ -> new Source(call.route, false));
    pool.add(call);
    ready.add(pool);
  }

  /** Adds a sequence that has something to send. */
  void add(Source sequence) {
    sequence.link = this;
    ready.add(sequence);
  }

  void assign(RemoteCall call) {
    assert call.link == null : "assigned twice";
    call.link = this;
    load.incrementAndGet();
  }

  void unassign(RemoteCall call) {
    call.link = null;
    call.stream = null;
    load.decrementAndGet();
  }

  /** Sends waiting calls, as far as the node's window allows. */
  void flush(long now) {
    if (load.get() > 0) wantedNanos = now;
    if (stream == null) {
      if (failures > 0 ? wanted(now) && now - againNanos >= 0 : !ready.isEmpty()) open(now);
      return;
    }
    if (stream.overdue(now)) {
      stream.end(Status.UNAVAILABLE.withDescription("no welcome in time"));
      return;
    }
    while (!ready.isEmpty() && stream.writable()) {
      var source = ready.removeFirst();
      stream.send(source, now);
      if (source.sendable()) ready.addLast(source);
    }
    if (stream.stalled(now)) suspect(stream, now);
  }

  /** Whether anything depends on a timeout. */
  boolean waiting(long now) {
    return stream == null ? failures > 0 && wanted(now) : stream.waiting();
  }

  boolean unused(long now, long idleNanos) {
    return load.get() == 0 && ready.isEmpty() && now - wantedNanos > idleNanos;
  }

  private boolean wanted(long now) {
    return now - wantedNanos < WANTED_NANOS;
  }

  private void open(long now) {
    try {
      stream = LinkStream.open(client, this, now);
    } catch (RuntimeException e) { // such as certificates that cannot be read
      failed("cannot be opened: " + e.getMessage(), now);
    }
  }

  void close(Status status) {
    var closing = stream;
    stream = null; // its end is no failure
    if (closing != null) closing.end(status);
  }

  void welcomed() {
    failures = 0;
  }

  /** Called when the node has answered. */
  void heard() {
    suspected = false;
    silent = false;
  }

  void ended(LinkStream ended, Status status, List<RemoteCall> underWay, long now) {
    if (stream != ended) return;
    stream = null;
    if (client.closed()) return;
    for (var call : underWay) client.lost(call, peer.node(), Reason.UNKNOWN);
    failed("has ended: " + status.getCode() + ", " + status.getDescription(), now);
  }

  private void failed(String how, long now) {
    client.meters().streamBroken();
    // Once for each time that the node goes away, not for each attempt.
    if (failures == 0) log.info("The stream to node {} at {}:{} {}", peer.node(), peer.host(), peer.port(), how);
    againNanos = now + client.backoffNanos(failures++);
    giveBack(Reason.AWAY);
  }

  private void suspect(LinkStream stream, long now) {
    if (!suspected) log.info("Node {} at {}:{} does not respond; replies are overdue", peer.node(), peer.host(), peer.port());
    suspected = true;
    silent = true;
    silentUntilNanos = now + client.settings().silence().stallAfter().toNanos();
    stream.ping();
    for (var call : stream.suspected(now)) if (call.idempotent) client.lost(call, peer.node(), Reason.STALLED);
    giveBack(Reason.STALLED);
  }

  /** Returns the unsent calls, which go to other nodes. */
  private void giveBack(Reason reason) {
    var sources = new ArrayList<>(ready);
    ready.clear();
    for (var source : sources) {
      source.route.failed(peer.node());
      if (source.ordered) {
        client.giveBack(source, reason);
      } else {
        var calls = new ArrayList<>(source.waiting);
        source.waiting.clear();
        for (var call : calls) if (!call.ended) client.again(call, reason, false);
      }
    }
  }
}
