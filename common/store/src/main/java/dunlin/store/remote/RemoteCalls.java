package dunlin.store.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.grpc.ServiceTls;
import io.grpc.ConnectivityState;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Calls the {@link RangeService.CallHandler} of other nodes: a request and an answer as bytes. */
public final class RemoteCalls implements AutoCloseable {
  /*
   * Owner: any thread that may block; the lock guards the channels.
   * Bounds: a channel for each address, CHANNELS_MAX of them; an idle one ends its connection, and is removed when it
   * has not been used for long. A channel has at most CALLS_MAX pending calls, the service's limit for a connection:
   * one more is refused at once, and so is one that is too large.
   * Failure: every call ends within its deadline, with an IOException for any failure. An address that cannot be
   * connected to costs a call at most connectMax, so that the caller can ask others.
   */
  /** The largest request and the largest answer, in bytes. */
  public static final int BYTES_MAX = 16 * 1024 * 1024;

  /** The most pending calls to one node. */
  public static final int CALLS_MAX = RangeService.STREAMS_PER_CONNECTION;
  private static final int CHANNELS_MAX = 1024;
  private static final Duration CONNECT_MAX = Duration.ofSeconds(2);
  private static final long UNUSED_NANOS = Duration.ofMinutes(5).toNanos();

  private record Address(String host, int port, String name) {
    @Override
    public String toString() {
      return at(host) + ":" + port + (name.equals(host) ? "" : " (" + name + ")");
    }

    /** The name that the certificate must have. */
    String authority() {
      return at(name) + ":" + port;
    }

    private static String at(String host) {
      return host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    }
  }

  /** The channel to one address. */
  private static final class Link {
    final ManagedChannel channel;
    int underWay;
    long usedNanos = System.nanoTime();

    Link(ManagedChannel channel) {
      this.channel = channel;
    }
  }

  private final @Nullable ServiceTls tls;
  private final Duration connectMax;
  private final MeterRegistry registry;
  private final List<Meter> meters = new ArrayList<>();
  private final Counter sent;
  private final Counter failed;
  private final Counter refused;
  /** Least recently used first; guarded by itself, as are the links' counts. */
  @GuardedBy("links")
  private final Map<Address, Link> links = new LinkedHashMap<>(16, 0.75f, true);

  @GuardedBy("links")
  private boolean closed;

  /** @param tls null for connections without TLS */
  public RemoteCalls(@Nullable ServiceTls tls, MeterRegistry registry) {
    this(tls, CONNECT_MAX, registry);
  }

  RemoteCalls(@Nullable ServiceTls tls, Duration connectMax, MeterRegistry registry) {
    this.tls = tls;
    this.connectMax = connectMax;
    this.registry = registry;
    sent = counter("dunlin.store.calls", "Calls to other nodes");
    failed = counter("dunlin.store.calls.failed", "Calls to other nodes without an answer");
    refused = counter("dunlin.store.calls.refused", "Calls to other nodes that were not sent: too many, or too large");
    meters.add(
        Gauge.builder("dunlin.store.calls.nodes", this, RemoteCalls::open)
            .description("Nodes that have been called lately")
            .register(registry));
  }

  private Counter counter(String name, String description) {
    var counter = Counter.builder(name).description(description).register(registry);
    meters.add(counter);
    return counter;
  }

  /**
   * Calls the node whose store service is there. Blocks.
   *
   * @param name the name that its certificate must have, where there is TLS
   * @throws IOException for any failure; the other node may have received the call all the same
   */
  public byte[] call(String host, int port, String name, byte[] request, Duration deadline) throws IOException {
    var address = new Address(host, port, name);
    if (request.length > BYTES_MAX) throw refusal("a call to " + address + " of " + request.length + " bytes, at most " + BYTES_MAX);
    var link = take(address);
    sent.increment();
    try {
      return exchange(link.channel, address, request, deadline);
    } catch (IOException e) {
      failed.increment();
      throw e;
    } finally {
      giveBack(link);
    }
  }

  private byte[] exchange(ManagedChannel channel, Address address, byte[] request, Duration deadline) throws IOException {
    var call = UnaryCall.start(channel, ServiceMethods.CALL, request, deadline, address.toString());
    if (!call.ended(connectMax) && channel.getState(false) != ConnectivityState.READY) {
      call.cancel("no connection");
      throw new IOException(address + ": no connection within " + connectMax.toMillis() + " ms");
    }
    return call.answer();
  }

  private Link take(Address address) throws IOException {
    synchronized (links) {
      if (closed) throw new IOException("closed");
      var link = links.get(address);
      if (link == null) {
        makeRoom();
        link = new Link(channel(address));
        links.put(address, link);
      }
      if (link.underWay >= CALLS_MAX) throw refusal("too many calls to " + address + " are pending");
      link.underWay++;
      link.channel.resetConnectBackoff(); // the caller decides how often to retry
      return link;
    }
  }

  private void giveBack(Link link) {
    synchronized (links) {
      link.underWay--;
      link.usedNanos = System.nanoTime();
    }
  }

  /** Closes channels that were not used for long, and an idle one when there are too many. */
  @GuardedBy("links")
  private void makeRoom() throws IOException {
    long now = System.nanoTime();
    var eldest = links.values().iterator();
    while (eldest.hasNext()) {
      var link = eldest.next();
      if (link.underWay > 0) continue;
      if (links.size() < CHANNELS_MAX && now - link.usedNanos < UNUSED_NANOS) return;
      link.channel.shutdownNow();
      eldest.remove();
    }
    if (links.size() >= CHANNELS_MAX) throw refusal("calls to " + links.size() + " nodes are pending");
  }

  private ManagedChannel channel(Address address) throws IOException {
    var credentials = tls == null ? InsecureChannelCredentials.create() : tls.client();
    try {
      return NettyChannelBuilder.forAddress(address.host, address.port, credentials)
          .overrideAuthority(address.authority())
          .directExecutor()
          .disableRetry()
          .maxInboundMessageSize(BYTES_MAX)
          .keepAliveTime(10, TimeUnit.SECONDS)
          .keepAliveTimeout(5, TimeUnit.SECONDS)
          .idleTimeout(1, TimeUnit.MINUTES)
          .build();
    } catch (IllegalArgumentException e) {
      throw new IOException(address + " is not an address: " + e.getMessage(), e);
    }
  }

  private IOException refusal(String why) {
    refused.increment();
    return new IOException(why);
  }

  private double open() {
    synchronized (links) {
      return links.size();
    }
  }

  /** Ends the pending calls. */
  @Override
  public void close() {
    synchronized (links) {
      closed = true;
      links.values().forEach(link -> link.channel.shutdownNow());
      links.clear();
    }
    meters.forEach(registry::remove);
  }
}
