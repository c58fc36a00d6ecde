package dunlin.links;

import dunlin.store.grpc.Caller;
import dunlin.store.grpc.PeerService;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Accepts links from other processes, as a service of a gRPC server, and from this one: each stream is a pipe. */
public final class LinkService implements PeerService, AutoCloseable {
  /*
   * Owner: any thread adds acceptors. Frames arrive on gRPC's event loops, which are never blocked, and are passed to
   * the thread of their acceptor.
   * Bounds: STREAMS_MAX streams of other processes; one more is refused. This process has one for each link that it
   * dials to itself. FRAMES_AHEAD frames of a stream may wait for the acceptor's
   * thread; further ones are not read. Sent frames wait in gRPC while the other side does not read, up to the link's
   * bounds.
   * Failure: a stream of another version, for another node, or for a name that has no acceptor is refused with a
   * sentence, and counted. So is a stream of an unknown node, or of a caller whose certificate is not that node's, or that
   * of a frontend for links of leaders: a link belongs to its caller, by name. A broken stream is reported to its acceptor. close() closes all acceptors and
   * their links.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LinkService.class);
  private static final int STREAMS_MAX = 16_384;
  private static final long TICK_MILLIS = 1_000;
  private static final Status STOPS = Status.UNAVAILABLE.withDescription("the process is stopping");

  private final UUID node;
  private final Callers callers;
  private final Map<String, Accepting> byName = new ConcurrentHashMap<>();
  private final AtomicInteger streams = new AtomicInteger();
  private final AtomicInteger local = new AtomicInteger();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-links").factory());

  /** @param ofLeaders whether frontends open no such links */
  private record Accepting(LinkAcceptor acceptor, Executor owner, boolean ofLeaders) {
    private void tick() {
      try {
        owner.execute(acceptor::tick);
      } catch (RejectedExecutionException over) {
        LOG.debug("The thread of an acceptor of links has ended");
      }
    }

    private void close() {
      try {
        owner.execute(acceptor::close);
      } catch (RejectedExecutionException over) {
        LOG.debug("The thread of an acceptor of links has ended before it");
      }
    }
  }

  /**
   * @param node the id of this node
   * @param hosts the host of a node of the cluster, if this node knows it; any thread
   */
  public LinkService(UUID node, Function<UUID, Optional<String>> hosts, MeterRegistry meters) {
    this.node = node;
    callers = new Callers("link", node, hosts, meters);
    Gauge.builder("dunlin.links.accepted", streams, AtomicInteger::get).description("Open streams from other processes").register(meters);
    Gauge.builder("dunlin.links.local", local, AtomicInteger::get).description("Open streams between the tiers of this node").register(meters);
    Gauge.builder("dunlin.links.unconfirmed", byName, all -> all.values().stream().mapToLong(each -> each.acceptor.unconfirmedBytes()).sum())
        .description("What was sent over links and the other sides have not confirmed")
        .baseUnit("bytes")
        .tag("side", "accepted")
        .register(meters);
    var _ = timer.scheduleWithFixedDelay(() -> byName.values().forEach(Accepting::tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /**
   * Accepts links under a name from now on, until what this answers is closed: then these links end, and the name is free.
   *
   * @param owner runs tasks on the acceptor's thread, in the order of each submitting thread
   */
  public Accepted accept(String name, LinkAcceptor acceptor, Executor owner) {
    return accept(name, new Accepting(acceptor, owner, false));
  }

  /** Does the same, but for callers whose certificate is that of a frontend: they lead no range, in whose name such links are opened. */
  public Accepted acceptOfLeaders(String name, LinkAcceptor acceptor, Executor owner) {
    return accept(name, new Accepting(acceptor, owner, true));
  }

  private Accepted accept(String name, Accepting accepting) {
    if (byName.putIfAbsent(name, accepting) != null) throw new IllegalStateException("links named " + name + " are accepted already");
    return new Accepted() {
      @Override
      public void acceptNoMore() {
        byName.remove(name, accepting);
      }

      @Override
      public void close() {
        acceptNoMore();
        accepting.close();
      }
    };
  }

  /** That links are accepted under a name. */
  public interface Accepted extends AutoCloseable {
    /** Accepts no more links, and frees the name; those that there are go on, until their streams break. Any thread. */
    void acceptNoMore();

    /** Accepts none any more, and ends those that there are, soon. Any thread. */
    @Override
    void close();
  }

  @Override
  public int messageBytesMax() {
    return LinkWire.FRAME_BYTES_MAX;
  }

  @Override
  public ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder(LinkWire.SERVICE).addMethod(LinkWire.PIPE, this::begin).build();
  }

  /** Stops accepting, and closes accepted links. */
  @Override
  public void close() {
    timer.shutdownNow();
    byName.values().forEach(Accepting::close);
    byName.clear();
  }

  private ServerCall.Listener<byte[]> begin(ServerCall<byte[], byte[]> call, Metadata headers) {
    var wrong = callers.wrong(call, headers);
    if (wrong != null) return callers.refuse(call, wrong);
    String name = headers.get(LinkWire.NAME_KEY);
    var accepting = name == null ? null : byName.get(name);
    if (accepting == null) return callers.refuse(call, Status.UNAVAILABLE.withDescription("node %s accepts no links named %s".formatted(node, name)));
    if (accepting.ofLeaders() && Caller.of(call).isFrontend()) {
      return callers.refuse(call, Status.PERMISSION_DENIED.withDescription("the caller's certificate is that of a frontend, and links named %s are of leaders".formatted(name)));
    }
    if (streams.incrementAndGet() > STREAMS_MAX) {
      streams.decrementAndGet();
      return callers.refuse(call, Status.RESOURCE_EXHAUSTED.withDescription("node %s has %d streams already".formatted(node, STREAMS_MAX)));
    }
    var pipe = new AcceptedPipe(accepting, Callers.of(headers), call);
    pipe.begin();
    return pipe;
  }

  /**
   * Begins a stream of this process. Called on the dialler's thread.
   *
   * @return whether links are accepted under the name
   */
  boolean begin(String name, LocalPipe dialler) {
    var accepting = byName.get(name);
    if (accepting == null) return false;
    var pipe = new AcceptedLocally(accepting);
    LocalPipe.join(dialler, pipe);
    local.incrementAndGet();
    if (pipe.hand(() -> accepting.acceptor().connected(pipe))) return true;
    local.decrementAndGet();
    return false;
  }

  /** One stream of this process. */
  private final class AcceptedLocally extends LocalPipe {
    private final Accepting to;

    private AcceptedLocally(Accepting to) {
      super(to.owner());
      this.to = to;
    }

    @Override
    public String caller() {
      return node.toString();
    }

    @Override
    void arrived(byte[] frame) {
      to.acceptor().arrived(this, frame);
    }

    @Override
    void ended() {
      local.decrementAndGet();
      to.acceptor().broken(this);
    }
  }

  /** One stream. Only the acceptor's thread sends and closes, since gRPC requires a single thread. */
  private final class AcceptedPipe extends ServerCall.Listener<byte[]> implements Pipe {
    private final Accepting to;
    private final String caller;
    private final ServerCall<byte[], byte[]> call;
    private boolean closed; // used by the acceptor's thread only, as is taken
    private int taken;

    private AcceptedPipe(Accepting to, String caller, ServerCall<byte[], byte[]> call) {
      this.to = to;
      this.caller = caller;
      this.call = call;
    }

    @Override
    public String caller() {
      return caller;
    }

    private void begin() {
      if (hand(this::connected)) return;
      call.close(STOPS, new Metadata());
    }

    private void connected() {
      call.sendHeaders(new Metadata());
      call.request(LinkWire.FRAMES_AHEAD);
      to.acceptor().connected(this);
    }

    private boolean hand(Runnable work) {
      try {
        to.owner().execute(work);
        return true;
      } catch (RejectedExecutionException over) {
        return false; // the process is stopping, and the stream ends with its server
      }
    }

    @Override
    public void onMessage(byte[] frame) {
      hand(
          () -> {
            to.acceptor().arrived(this, frame);
            taken = LinkWire.requestMore(taken + 1, call::request);
          });
    }

    /** The dialler has closed the stream. */
    @Override
    public void onHalfClose() {
      hand(this::close);
    }

    @Override
    public void onCancel() {
      ended();
    }

    @Override
    public void onComplete() {
      ended();
    }

    private void ended() {
      streams.decrementAndGet();
      hand(
          () -> {
            closed = true;
            to.acceptor().broken(this);
          });
    }

    @Override
    public void send(byte[] frame) {
      if (!closed) call.sendMessage(frame);
    }

    @Override
    public void close() {
      if (closed) return;
      closed = true;
      call.close(Status.OK, new Metadata());
    }
  }
}
