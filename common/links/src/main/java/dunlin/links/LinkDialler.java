package dunlin.links;

import dunlin.runtime.LineLimit;
import dunlin.store.grpc.FailureText;
import dunlin.store.grpc.ServiceTls;
import dunlin.transport.link.Link;
import dunlin.transport.link.Pipe;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens links to other processes over gRPC, and to the tiers of this one without. Replaces the stream of a link when it
 * breaks.
 */
public final class LinkDialler implements AutoCloseable {
  /*
   * Owner: a link and its DialledLink belong to the caller's thread; any thread may dial.
   * Bounds: a connection for each link, so that one that is not read from does not block others. FRAMES_AHEAD frames of
   * a stream may wait for the link's thread. Sent frames wait in gRPC while the other side does not read, up to the
   * link's bounds. LocalPipe has those of a stream to this process.
   * Failure: a stream that breaks or cannot be opened is replaced after a pause of up to PAUSE_MAX_MILLIS, until the
   * link is lost. One failure in a row is logged, and refusals of a certificate at once, since these do not pass by themselves. The other side may have moved by
   * then, for example with the leadership of a range: a link that has not begun yet begins there, and one that has is refused
   * there and lost. A caller may know where it is (Whereabouts): then a pause ends once that is another node than the last one, and it is
   * PAUSE_NEAR_MILLIS at most while the right node does not accept links yet. The first EXPECTED_MAX pauses while that node answers are of PAUSE_MILLIS at most: a new leader
   * accepts links some ten milliseconds after others know it, and clients wait for that. So that this costs little, a link asks again over the connection on which it was
   * refused. A node that stands still or is cut off breaks no stream, so a caller may know
   * earlier that the other side is not there any more: then the stream is replaced at once.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LinkDialler.class);
  private static final long TICK_MILLIS = 1_000;
  private static final long MOVED_MILLIS = 250;
  private static final long PAUSE_MILLIS = 50;
  private static final long PAUSE_MAX_MILLIS = 1_000;
  private static final long PAUSE_NEAR_MILLIS = 200;
  private static final long FOUND_MILLIS = 25;

  /** Refusals of the right node before the pauses get longer: about half a second. */
  private static final int EXPECTED_MAX = 12;

  /** Failures to open a link before a warning is logged: about six seconds, in which nodes may start and leaders change. */
  private static final int QUIET_FAILURES = 11;

  /** All links are refused for the same reason, so one line in this time says it. */
  private static final Duration REFUSAL_PERIOD = Duration.ofSeconds(10);

  private static final long CLOSE_SECONDS = 5;

  private final UUID node;
  private final Link.Settings settings;
  private final @Nullable ServiceTls tls;
  private final @Nullable LinkService own;
  private final long pauseMillis;
  private final long pauseMaxMillis;
  private final SecureRandom random = new SecureRandom();
  private final Set<DialledLink> links = ConcurrentHashMap.newKeySet();
  private final Counter broken;

  /** Hears of nodes whose hosts refuse connections. */
  private volatile Consumer<UUID> refused = _ -> {};

  private final LineLimit refusalLines = new LineLimit(1, REFUSAL_PERIOD, System::nanoTime);
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-links-dialler").factory());

  /**
   * @param node id of this node
   * @param tls null for connections without TLS
   * @param own accepts the links of this node, which are opened to it without a connection; null to open all by gRPC
   */
  public LinkDialler(UUID node, Link.Settings settings, @Nullable ServiceTls tls, @Nullable LinkService own, MeterRegistry meters) {
    this(node, settings, tls, own, meters, PAUSE_MILLIS, PAUSE_MAX_MILLIS);
  }

  /** @param pauseMillis the first pause; each doubles the one before, up to the longest */
  LinkDialler(
      UUID node, Link.Settings settings, @Nullable ServiceTls tls, @Nullable LinkService own, MeterRegistry meters, long pauseMillis, long pauseMaxMillis) {
    this.node = node;
    this.pauseMillis = pauseMillis;
    this.pauseMaxMillis = pauseMaxMillis;
    this.settings = settings;
    this.tls = tls;
    this.own = own;
    broken = Counter.builder("dunlin.links.broken").description("Streams to other processes that broke or could not be opened").register(meters);
    Gauge.builder("dunlin.links.dialled", links, Set::size).description("Links to other processes that are not lost").register(meters);
    Gauge.builder("dunlin.links.unconfirmed", links, all -> all.stream().mapToLong(each -> each.link.unconfirmedBytes()).sum())
        .description("What was sent over links and the other sides have not confirmed")
        .baseUnit("bytes")
        .tag("side", "dialled")
        .register(meters);
    var _ = timer.scheduleWithFixedDelay(() -> links.forEach(DialledLink::tickSoon), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    var _ = timer.scheduleWithFixedDelay(() -> links.forEach(DialledLink::moveSoon), MOVED_MILLIS, MOVED_MILLIS, TimeUnit.MILLISECONDS);
    var _ = timer.scheduleWithFixedDelay(() -> links.forEach(DialledLink::goOnSoon), FOUND_MILLIS, FOUND_MILLIS, TimeUnit.MILLISECONDS);
  }

  /**
   * Opens a link. Called on the link's thread, where all of its events occur.
   *
   * @param to where the other side is
   * @param name the name under which the other side accepts it
   * @param opening data of this side for the acceptor; 64 KiB at most
   * @param owner runs tasks on the link's thread, in the order of each submitting thread
   */
  public Link dial(Whereabouts to, String name, byte[] opening, Executor owner, Link.Handler handler) {
    long identity = random.nextLong();
    var link = Link.dialling(identity == 0 ? 1 : identity, opening, settings, owner, System::nanoTime, handler);
    var dialled = new DialledLink(to, name, owner, link);
    links.add(dialled);
    dialled.open();
    return link;
  }

  /** Sets what hears, on the threads of the links, that a node's host has refused a connection. */
  public void onRefused(Consumer<UUID> listener) {
    refused = listener;
  }

  /** Stops dialling. The owners of live links close them. */
  @Override
  public void close() {
    timer.shutdownNow();
    links.forEach(DialledLink::over);
  }

  /** The dialling end of a stream. */
  private interface Dialled extends Pipe {
    LinkPeer peer();

    /** Ends it without waiting for the other side to close it. */
    void abandon();
  }

  /** A connection to a node, for the streams of one link. */
  private record Connection(LinkPeer peer, ManagedChannel channel) {
    boolean stands() {
      return channel.getState(false) == ConnectivityState.READY;
    }

    boolean leadsTo(LinkPeer next) {
      return peer.equals(next) && stands();
    }

    void end() {
      channel.shutdownNow();
    }
  }

  /** A link and its current stream; used by the link's thread only. */
  private final class DialledLink {
    private final Whereabouts to;
    private final String name;
    private final Executor owner;
    private final Link link;
    private int failures;

    /** Refusals of the right node, which do not count as failures. */
    private int expected;

    /** The number of the present pause before the next stream; 0 without one. Other threads only read it. */
    private volatile int pause;

    private int pauses;

    /** The node that was dialled last. Other threads only read it. */
    private volatile @Nullable UUID dialled;

    /** The present stream; null between two. Other threads only read it. */
    private volatile @Nullable Dialled pipe;

    /** That of the last stream, which the other side has ended, for the next one to the same node; null without one. Taken out by any thread. */
    private final AtomicReference<@Nullable Connection> kept = new AtomicReference<>();

    /** Whether the last stream came to its node. */
    private boolean answered;

    private DialledLink(Whereabouts to, String name, Executor owner, Link link) {
      this.to = to;
      this.name = name;
      this.owner = owner;
      this.link = link;
    }

    private void open() {
      if (link.isLost()) {
        over();
        return;
      }
      pause = 0;
      answered = false;
      var last = kept.getAndSet(null);
      var peer = to.next().orElse(null);
      if (last != null && (peer == null || !last.leadsTo(peer))) {
        last.end();
        last = null;
      }
      if (peer == null || !peer.node().equals(dialled)) expected = 0; // another node may need the same time
      dialled = peer == null ? null : peer.node();
      if (peer == null) {
        failed(false, false, "cannot be opened: it is not known where to");
        return;
      }
      try {
        var opened = own != null && peer.node().equals(node) ? new DialledLocally(this, peer, own) : new DialledPipe(this, last == null ? new Connection(peer, LinkWire.connect(peer, tls)) : last, name);
        pipe = opened;
        link.connected(opened);
      } catch (RuntimeException e) { // such as certificates that cannot be read
        failed(false, false, "to " + peer + " cannot be opened: " + e.getMessage());
      }
    }

    /** @param ours whether this side has ended the stream */
    private void broken(DialledPipe pipe, Status status, boolean ours) {
      if (this.pipe == pipe && FailureText.isRefusedConnection(status)) refused.accept(pipe.peer().node());
      if (this.pipe == pipe && !ours && mayAnswerOtherwise(status) && pipe.connection.stands()) kept.set(pipe.connection);
      else pipe.connection.end();
      boolean isFull = status.getCode() == Status.Code.RESOURCE_EXHAUSTED; // that takes longer than a change of leaders
      broken(pipe, kept.get() != null && !isFull, isRefusal(status), status.getCode() + ", " + FailureText.of(status));
    }

    /** Whether the node may take a stream over the same connection later. Not where it needs another certificate, or is the wrong one: the next connection may lead elsewhere. */
    private static boolean mayAnswerOtherwise(Status status) {
      return status.isOk() || status.getCode() == Status.Code.UNAVAILABLE || status.getCode() == Status.Code.RESOURCE_EXHAUSTED;
    }

    private void broken(Dialled pipe, boolean answered, boolean refusal, String why) {
      if (!pipe.equals(this.pipe)) return; // it was replaced
      this.pipe = null;
      this.answered = answered;
      boolean wasOpen = link.isConnected();
      if (wasOpen) failures = expected = 0;
      link.broken(pipe);
      if (link.isLost()) over();
      else failed(wasOpen, refusal, "to " + pipe.peer() + " has ended: " + why);
    }

    /** The link is lost, or its thread or this dialler has ended. Any thread. */
    private void over() {
      links.remove(this);
      var last = kept.getAndSet(null);
      if (last != null) last.end();
    }

    /** Whether the other side, or this one, refuses a certificate: that does not pass by itself. */
    private boolean isRefusal(Status status) {
      return status.getCode() == Status.Code.PERMISSION_DENIED || FailureText.isTls(status);
    }

    /**
     * @param wasOpen whether a stream has ended, and not an attempt
     * @param refused whether it is logged at once
     */
    private void failed(boolean wasOpen, boolean refused, String how) {
      broken.increment();
      boolean isNear = isFound(true);
      boolean isExpected = isNear && answered && !wasOpen && expected++ < EXPECTED_MAX;
      // Once for each time that the other side goes away, not for each attempt.
      if (refused && refusalLines.admits()) LOG.warn("The stream of link {} {}; {} more refusals were not logged", name, how, refusalLines.leftOut());
      else if (!refused && !isExpected && failures == (wasOpen ? 0 : QUIET_FAILURES)) LOG.warn("The stream of link {} {}", name, how);
      long millis = Math.min(isNear ? PAUSE_NEAR_MILLIS : pauseMaxMillis, isExpected ? pauseMillis : pauseMillis << Math.min(failures++, 10));
      int number = ++pauses;
      pause = number;
      try {
        var _ = timer.schedule(() -> hand(() -> goOn(number)), ThreadLocalRandom.current().nextLong(millis / 2, millis), TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException closed) {
        over();
      }
    }

    /** Whether it is known where the other side is, and that is, or is not, the node that was dialled last. */
    private boolean isFound(boolean there) {
      return to.surely().filter(node -> node.equals(dialled) == there).isPresent();
    }

    private void goOn(int number) {
      if (pause == number) open();
    }

    /** Ends a pause when the other side has appeared on another node. */
    private void goOnSoon() {
      int number = pause;
      if (number != 0 && isFound(false)) hand(() -> goOn(number));
    }

    /** Replaces the stream if the other side has left its node. */
    private void moveSoon() {
      var present = pipe;
      if (present == null || !to.isNot(present.peer().node())) return;
      hand(
          () -> {
            if (!present.equals(pipe) || link.isLost()) return;
            LOG.info("Link {} leaves node {}, where its other side is not any more", name, present.peer().node());
            pipe = null;
            present.abandon();
            link.broken(present);
            if (link.isLost()) over();
            else open();
          });
    }

    private void tickSoon() {
      hand(
          () -> {
            link.tick();
            if (link.isLost()) over();
          });
    }

    /** Answers false when the link's thread has ended. */
    private boolean hand(Runnable work) {
      try {
        owner.execute(work);
        return true;
      } catch (RejectedExecutionException ended) {
        over();
        return false;
      }
    }
  }

  /** One stream, on the connection of its link. Only the link's thread sends and closes, since gRPC requires a single thread. */
  private final class DialledPipe extends ClientCall.Listener<byte[]> implements Dialled {
    private final DialledLink of;
    private final Connection connection;
    private final ClientCall<byte[], byte[]> call;
    private boolean closed;
    private int taken;

    private DialledPipe(DialledLink of, Connection connection, String name) {
      this.of = of;
      this.connection = connection;
      call = connection.channel().newCall(LinkWire.PIPE, CallOptions.DEFAULT);
      var headers = LinkWire.headers(node, connection.peer().node());
      headers.put(LinkWire.NAME_KEY, name);
      call.start(this, headers);
      call.request(LinkWire.FRAMES_AHEAD);
    }

    @Override
    public void onMessage(byte[] frame) {
      of.hand(
          () -> {
            of.link.arrived(this, frame);
            taken = LinkWire.requestMore(taken + 1, call::request);
          });
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      boolean handed =
          of.hand(
              () -> {
                boolean ours = closed;
                closed = true;
                of.broken(this, status, ours);
              });
      if (!handed) connection.end();
    }

    @Override
    public LinkPeer peer() {
      return connection.peer();
    }

    @Override
    public void abandon() {
      closed = true;
      connection.end();
    }

    @Override
    public void send(byte[] frame) {
      if (!closed) call.sendMessage(frame);
    }

    @Override
    public void close() {
      if (closed) return;
      closed = true;
      call.halfClose();
      try {
        var _ = timer.schedule(connection::end, CLOSE_SECONDS, TimeUnit.SECONDS); // if the other side does not close it
      } catch (RejectedExecutionException over) {
        connection.end();
      }
    }
  }

  /** One stream to a tier of this process. */
  private static final class DialledLocally extends LocalPipe implements Dialled {
    private final DialledLink of;
    private final LinkPeer peer;

    private DialledLocally(DialledLink of, LinkPeer peer, LinkService to) {
      super(of.owner);
      this.of = of;
      this.peer = peer;
      if (!to.begin(of.name, this)) close();
    }

    @Override
    public LinkPeer peer() {
      return peer;
    }

    @Override
    void arrived(byte[] frame) {
      of.link.arrived(this, frame);
    }

    @Override
    void ended() {
      of.broken(this, true, false, "it accepts no links with this name, or not any more");
    }

    @Override
    public void abandon() {
      close();
    }
  }
}
