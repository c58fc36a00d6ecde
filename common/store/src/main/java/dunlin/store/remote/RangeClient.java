package dunlin.store.remote;

import dunlin.store.CommandCodec;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.remote.ClientMeters.Reason;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.RangeReply;
import dunlin.store.serve.ResultCodec;
import dunlin.store.settings.RangeClientSettings;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls ranges on other nodes: finds their leaders, retries what surely was not done, and keeps each call's deadline. */
public final class RangeClient implements AutoCloseable {
  /*
   * Owner: one thread of its own holds all state of calls, routes and links, without locks. Any thread proposes.
   * Bounds: RangeClientSettings. Each node has one link, one connection and one window, so a slow or unreachable node
   * does not block requests to others. Each call ends at its deadline.
   * Failure: a call that was never sent, or was refused, ends as "not done"; one that was sent and not answered as
   * "unknown". close() ends all calls in this way.
   *
   * The class is long because the whole course of a call, from its proposal over each answer to its end, is decided
   * here.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeClient.class);
  private static final long TICK_NANOS = 5_000_000;
  private static final long IDLE_TICK_NANOS = 1_000_000_000;
  private static final long LINK_IDLE_NANOS = 60_000_000_000L;
  private static final int NAME_LENGTH_MAX = 128;
  private static final int BACKOFF_DOUBLINGS_MAX = 16;

  private final String name;
  private final RangeClientSettings settings;
  private final RangeMap map;
  private final @Nullable ServiceTls tls;
  private final LongSupplier nanoTime;
  private final RandomGenerator random;
  private final ClientMeters meters;
  private final ClientLoop loop;
  private final ConcurrentMap<UUID, RangeRoute> routes = new ConcurrentHashMap<>();
  private final AtomicInteger calls = new AtomicInteger();

  // Used by the client's thread only.
  private final Map<RangeLocation.Peer, NodeLink> links = new HashMap<>();
  private final PriorityQueue<Due> due = new PriorityQueue<>((one, other) -> Long.signum(one.atNanos - other.atNanos));
  private @Nullable RemoteCall first;
  private @Nullable RemoteCall last;
  private long earliestDeadlineNanos;
  private volatile boolean closed;

  /** A task that is due at a time. */
  private record Due(long atNanos, Runnable what) {}

  /**
   * @param name of this process, for the logs of the nodes it calls; at most 128 characters
   * @param tls null for connections without TLS
   * @param nanoTime counts as System.nanoTime does
   * @param random spreads the pauses before retries; used by one thread
   */
  public RangeClient(
      String name,
      RangeClientSettings settings,
      RangeMap map,
      @Nullable ServiceTls tls,
      MeterRegistry registry,
      LongSupplier nanoTime,
      RandomGenerator random) {
    if (name.length() > NAME_LENGTH_MAX) throw new IllegalArgumentException("name of " + name.length() + " characters");
    this.name = name;
    this.settings = settings;
    this.map = map;
    this.tls = tls;
    this.nanoTime = nanoTime;
    this.random = random;
    meters = new ClientMeters(registry);
    meters.gauge("dunlin.store.client.in.flight", "Requests to other nodes in flight", calls, AtomicInteger::get);
    loop = new ClientLoop("dunlin-store-client", this::round);
    loop.start();
  }

  /** A range whose commands may overtake each other, so that many are in flight at a time. */
  public <C, R> RemoteRange<C, R> range(
      UUID range, CommandCodec<C> commands, ResultCodec<R> results, RemoteRange.Rules<C> rules) {
    return new RemoteRange<>(this, commands, results, rules, route(range), null);
  }

  /**
   * A range that applies the commands of one thread and this object in the order of the calls. One frame of them is in
   * flight at a time. Only a command that is reported as unknown may be applied after a later one.
   */
  public <C, R> RemoteRange<C, R> orderedRange(
      UUID range, CommandCodec<C> commands, ResultCodec<R> results, RemoteRange.Rules<C> rules) {
    var route = route(range);
    return new RemoteRange<>(this, commands, results, rules, route, new Source(route, true));
  }

  private RangeRoute route(UUID range) {
    return routes.computeIfAbsent(range, RangeRoute::new);
  }

  /** Ends every call, as not done or with an unknown outcome, and all connections. */
  @Override
  public void close() {
    loop.execute(this::shut);
    try {
      loop.stop();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    meters.close();
  }

  private void shut() {
    if (closed) return;
    closed = true;
    for (var call = first; call != null; call = first) fail(call, "the client was closed");
    for (var link : links.values()) link.close(Status.CANCELLED.withDescription("the client was closed"));
    links.clear();
    due.clear();
  }

  RangeClientSettings settings() {
    return settings;
  }

  @Nullable ServiceTls tls() {
    return tls;
  }

  ClientMeters meters() {
    return meters;
  }

  String name() {
    return name;
  }

  boolean closed() {
    return closed;
  }

  long now() {
    return nanoTime.getAsLong();
  }

  void execute(Runnable task) {
    loop.execute(task);
  }

  /** The largest frame of replies: results are at most about as large as commands, and a large one is a frame alone. */
  int replyFrameBytesMax() {
    return 2 * settings.bounds().commandBytesMax() + settings.frames().fullAt();
  }

  void begin(
      Frames.Kind kind,
      RangeRoute route,
      @Nullable Source sequence,
      byte[] command,
      boolean idempotent,
      Duration timeout,
      RemoteCall.Ending ending) {
    long now = now();
    var call = new RemoteCall(kind, route, sequence, command, idempotent, now, now + timeout.toNanos(), ending);
    calls.incrementAndGet();
    loop.execute(() -> began(call));
  }

  private void began(RemoteCall call) {
    if (first == null || call.deadlineNanos - earliestDeadlineNanos < 0) earliestDeadlineNanos = call.deadlineNanos;
    append(call);
    if (closed) {
      fail(call, "the client was closed");
    } else if (call.sequence != null) {
      call.sequence.add(call);
      pump(call.sequence);
    } else {
      send(call);
    }
  }

  /** Queues a call at the node that is believed to lead its range. */
  private void send(RemoteCall call) {
    if (call.ended) return;
    var link = destination(call.route, call);
    if (link != null) link.add(call);
  }

  /** Queues a sequence at the node that is believed to lead its range, if it has anything to send. */
  private void pump(Source sequence) {
    if (sequence.link != null || sequence.paused || closed) return;
    for (RemoteCall head; (head = sequence.peek()) != null; ) {
      int attempts = head.attempts;
      var link = destination(sequence.route, head);
      if (link != null) {
        follow(sequence, head.epoch);
        link.add(sequence);
        return;
      }
      if (head.attempts != attempts) { // it is to be retried, with the others behind it
        regroup(sequence);
        return;
      }
    }
  }

  /** Gives the calls behind the first one the same location, as many as a frame may have. */
  private void follow(Source sequence, long epoch) {
    var location = map.find(sequence.route.range).orElse(null);
    if (location == null || location.epoch() != epoch) return;
    int count = 0;
    for (var call : sequence.waiting) {
      if (count++ == settings.frames().requestsMax()) return;
      if (call.epoch != epoch && !call.ended) followOrFail(call, location);
    }
  }

  private boolean followOrFail(RemoteCall call, RangeLocation location) {
    if (call.epoch == location.epoch()) return true;
    if (call.ending.belongs(location)) {
      call.epoch = location.epoch();
      return true;
    }
    fail(call, "the command belongs to another range since epoch " + location.epoch());
    return false;
  }

  /** Where to send a call; null when it has ended or is to be retried. */
  private @Nullable NodeLink destination(RangeRoute route, RemoteCall call) {
    var location = map.find(route.range).orElse(null);
    if (location == null) {
      map.doubted(route.range);
      return refuse(call, Reason.NO_ROUTE);
    }
    if (!followOrFail(call, location)) return null;
    long now = now();
    var peer =
        route.next(
            location,
            candidate -> {
              var known = links.get(candidate);
              return known != null && known.away(now);
            });
    if (peer.isEmpty()) {
      map.doubted(route.range);
      return refuse(call, Reason.AWAY);
    }
    var link = links.computeIfAbsent(peer.get(), to -> new NodeLink(this, to));
    route.use(link);
    return link.full() ? refuse(call, Reason.OVERLOADED) : link;
  }

  private @Nullable NodeLink refuse(RemoteCall call, Reason reason) {
    meters.refused(reason);
    if (call.sequence != null) call.sequence.waiting.remove(call);
    again(call, reason, false);
    return null;
  }

  void answered(RemoteCall call, UUID node, RangeReply reply) {
    var route = call.route;
    switch (reply) {
      case RangeReply.Done(var result) -> {
        route.served(node);
        done(call, result, node);
      }
      case RangeReply.NotLeader(var hint) -> {
        meters.refused(Reason.NOT_LEADER);
        route.refused(node, hint);
        if (hint != null && map.find(route.range).flatMap(known -> known.peer(hint)).isEmpty()) map.doubted(route.range);
        again(call, Reason.NOT_LEADER, hint != null && !hint.equals(node));
      }
      case RangeReply.WrongEpoch(var now) -> {
        meters.refused(Reason.WRONG_EPOCH);
        boolean newer = now.range().equals(route.range) && now.epoch() > call.epoch;
        if (newer) map.learned(now);
        else route.refused(node, null); // the node is behind
        long known = map.find(route.range).map(RangeLocation::epoch).orElse(call.epoch);
        again(call, Reason.WRONG_EPOCH, known > call.epoch);
      }
      case RangeReply.Overloaded _ -> {
        meters.refused(Reason.OVERLOADED);
        again(call, Reason.OVERLOADED, false);
      }
      case RangeReply.Unavailable(var reason) -> {
        meters.refused(Reason.UNAVAILABLE);
        route.failed(node);
        map.doubted(route.range);
        call.lastRefusal = reason;
        again(call, Reason.UNAVAILABLE, false);
      }
      case RangeReply.Expired _ -> {
        settle(call);
        fail(call, "its deadline has passed at node " + node);
      }
      case RangeReply.Unknown(var reason) -> {
        call.lastRefusal = reason;
        lost(call, node, Reason.UNKNOWN);
      }
    }
  }

  /** An attempt has ended with an unknown outcome. */
  void lost(RemoteCall call, UUID node, Reason reason) {
    meters.refused(reason);
    call.route.failed(node);
    call.unknown = true;
    if (call.idempotent) again(call, reason, false);
    else fail(call, "node " + node + ": " + reason.text + ": " + call.lastRefusal);
  }

  /** Retries a call: at once after a hint, within a limit, otherwise after a pause. */
  void again(RemoteCall call, Reason reason, boolean hinted) {
    meters.retried(reason);
    call.lastRefusal = reason.text;
    call.attempts++;
    boolean atOnce = hinted && call.hops < settings.retries().hopsMax();
    call.hops = atOnce ? call.hops + 1 : 0;
    long pause = atOnce ? 0 : backoffNanos(call.attempts - 1);
    var sequence = call.sequence;
    if (sequence != null) {
      sequence.refuse(call, pause);
      settle(call);
    } else {
      settle(call);
      if (atOnce) send(call);
      else due.add(new Due(now() + pause, () -> send(call)));
    }
  }

  /** A sequence could not be sent to its node. */
  void giveBack(Source sequence, Reason reason) {
    sequence.link = null;
    var head = sequence.peek();
    if (head != null) {
      sequence.waiting.remove();
      again(head, reason, false);
      if (sequence.underWay == 0) regroup(sequence);
    }
  }

  private void regroup(Source sequence) {
    long pause = sequence.regroup();
    if (pause == 0) {
      pump(sequence);
      return;
    }
    sequence.paused = true;
    due.add(
        new Due(
            now() + pause,
            () -> {
              sequence.paused = false;
              pump(sequence);
            }));
  }

  /** The call no longer waits at a node nor is in flight there. */
  private void settle(RemoteCall call) {
    boolean underWay = call.stream != null;
    if (call.link != null) call.link.unassign(call);
    var sequence = call.sequence;
    if (sequence != null && underWay && --sequence.underWay == 0) regroup(sequence);
  }

  long backoffNanos(int attempt) {
    long first = settings.retries().backoffFirst().toNanos();
    long whole = Math.min(settings.retries().backoffMost().toNanos(), first << Math.min(attempt, BACKOFF_DOUBLINGS_MAX));
    return whole / 2 + random.nextLong(whole / 2 + 1);
  }

  private void done(RemoteCall call, byte[] result, UUID node) {
    if (end(call)) {
      meters.done(now() - call.startedNanos);
      tell(() -> call.ending.done(result, node));
    }
  }

  void fail(RemoteCall call, String why) {
    boolean maybeDone = call.maybeDone();
    if (end(call)) {
      meters.failed(now() - call.startedNanos, maybeDone);
      var failure = new StoreException("range " + call.route.range + ": " + why);
      tell(() -> call.ending.failed(maybeDone ? new OutcomeUnknownException("it is unknown whether a command is done: " + why, failure) : failure));
    }
  }

  private boolean end(RemoteCall call) {
    if (call.ended) return false;
    call.ended = true;
    calls.decrementAndGet();
    remove(call);
    settle(call);
    return true;
  }

  private static void tell(Runnable completion) {
    try {
      completion.run();
    } catch (RuntimeException e) {
      log.error("A completion has thrown an exception", e);
    }
  }

  private long round() {
    long now = now();
    if (first != null && now - earliestDeadlineNanos >= 0) expire(now);
    for (Due next; (next = due.peek()) != null && next.atNanos - now <= 0; ) {
      due.remove();
      next.what.run();
    }
    boolean waiting = first != null;
    for (var link : new ArrayList<>(links.values())) {
      link.flush(now);
      waiting |= link.waiting(now);
      if (link.unused(now, LINK_IDLE_NANOS)) {
        links.remove(link.peer());
        link.close(Status.CANCELLED.withDescription("unused"));
      }
    }
    if (!waiting) return IDLE_TICK_NANOS;
    // The clock is a parameter and may run at its own pace, so it is read often while anything depends on it.
    var next = due.peek();
    return next == null ? TICK_NANOS : Math.clamp(next.atNanos - now, 1, TICK_NANOS);
  }

  private void expire(long now) {
    var late = new ArrayList<RemoteCall>();
    long earliest = Long.MAX_VALUE;
    for (var call = first; call != null; call = call.next) {
      long left = call.deadlineNanos - now;
      if (left <= 0) late.add(call);
      else earliest = Math.min(earliest, left);
    }
    earliestDeadlineNanos = now + earliest;
    for (var call : late)
      fail(call, "its deadline has passed after " + call.attempts + " failed attempts; last: " + call.lastRefusal);
  }

  private void append(RemoteCall call) {
    call.previous = last;
    if (last == null) first = call;
    else last.next = call;
    last = call;
  }

  private void remove(RemoteCall call) {
    if (call.previous == null) first = call.next;
    else call.previous.next = call.next;
    if (call.next == null) last = call.previous;
    else call.next.previous = call.previous;
    call.previous = null;
    call.next = null;
  }
}
