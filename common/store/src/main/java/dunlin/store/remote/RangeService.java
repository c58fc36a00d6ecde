package dunlin.store.remote;

import dunlin.store.StoreException;
import dunlin.store.grpc.Caller;
import dunlin.store.grpc.PeerService;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.serve.LocalRanges;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.snapshot.LocalSnapshots;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store service of one node: serves other nodes' requests to the ranges that have a replica here, sends snapshots
 * of these, and passes on calls between nodes.
 */
public final class RangeService implements AutoCloseable {
  /*
   * Owner: frames are read and passed to their range on gRPC's event loops, which are never blocked; replies are
   * gathered and written by one thread, `writer`, which also ends requests past their deadline. The caller of start
   * closes it.
   * Bounds: RangeServiceSettings. Streams: one more is refused. A full window of a stream: it is not read from. All
   * streams together: "overloaded".
   * Other services at the port have their own bounds and owners.
   * Failure: a bad frame ends its stream. close() answers new requests with "unavailable", and those still pending
   * after closeTimeout with "unknown".
   */
  private static final Logger log = LoggerFactory.getLogger(RangeService.class);
  private static final Duration SWEEP = Duration.ofMillis(50);
  private static final int HTTP_WINDOW_BYTES = 1024 * 1024;
  static final int STREAMS_PER_CONNECTION = 16;

  private final UUID node;
  private final LocalRanges ranges;
  private final RangeServiceSettings settings;
  private final ServiceMeters meters;
  private final SnapshotService files;
  private final @Nullable CallService calls;
  private final LongSupplier nanoTime;
  private final ScheduledExecutorService writer;
  private final Set<ServiceStream> streams = ConcurrentHashMap.newKeySet();
  private final AtomicLong bytes = new AtomicLong();
  private final Server server;

  private volatile boolean closing;

  /** Answers calls from other nodes. */
  @FunctionalInterface
  public interface CallHandler {
    /**
     * Answers a call, on a thread that may block.
     *
     * @param caller by its certificate
     */
    byte[] answer(byte[] request, Caller caller);
  }

  private RangeService(
      InetSocketAddress address,
      UUID node,
      LocalRanges ranges,
      LocalSnapshots snapshots,
      @Nullable CallHandler answers,
      List<PeerService> others,
      RangeServiceSettings settings,
      @Nullable ServiceTls tls,
      MeterRegistry registry,
      LongSupplier nanoTime)
      throws IOException {
    this.node = node;
    this.ranges = ranges;
    this.settings = settings;
    this.nanoTime = nanoTime;
    var credentials = tls == null ? InsecureServerCredentials.create() : tls.server();
    meters = new ServiceMeters(registry);
    files = new SnapshotService(node, snapshots, meters);
    calls = answers == null ? null : new CallService(answers, meters);
    meters.gauge("dunlin.store.service.streams", "Open streams from other nodes", streams, Set::size);
    meters.gauge("dunlin.store.service.outstanding", "Requests from other nodes without a reply", this, RangeService::outstanding);
    meters.gauge("dunlin.store.service.outstanding.bytes", "Bytes of the commands of requests from other nodes without a reply", bytes, AtomicLong::get);
    writer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-store-service").factory());
    var methods =
        ServerServiceDefinition.builder(ServiceMethods.SERVICE)
            .addMethod(ServiceMethods.FRAMES, withReplicas(this::accept))
            .addMethod(ServiceMethods.PING, (call, _) -> new Pinged(call))
            .addMethod(ServiceMethods.OPEN_SNAPSHOT, withReplicas(files.opening()))
            .addMethod(ServiceMethods.READ_SNAPSHOT, withReplicas(files.reading()));
    if (calls != null) methods.addMethod(ServiceMethods.CALL, calls.answering());
    // A frame somewhat too large is refused by its stream, with a clear status; one far too large by gRPC.
    int messageBytesMax = Math.max(2 * settings.frameBytesMax(), calls == null ? 0 : RemoteCalls.BYTES_MAX);
    for (PeerService other : others) messageBytesMax = Math.max(messageBytesMax, other.messageBytesMax());
    server =
        NettyServerBuilder.forAddress(address, credentials)
            .directExecutor()
            .addService(methods.build())
            .addServices(others.stream().map(PeerService::definition).toList())
            .maxInboundMessageSize(messageBytesMax)
            .maxConcurrentCallsPerConnection(STREAMS_PER_CONNECTION)
            .flowControlWindow(HTTP_WINDOW_BYTES)
            .permitKeepAliveTime(1, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(10, TimeUnit.SECONDS)
            // A small compressed frame could expand to a huge one.
            .decompressorRegistry(DecompressorRegistry.emptyInstance())
            .compressorRegistry(CompressorRegistry.newEmptyInstance())
            .build();
    try {
      server.start();
    } catch (IOException | RuntimeException e) {
      writer.shutdownNow();
      closeParts();
      throw e;
    }
    var _ = writer.scheduleWithFixedDelay(this::sweep, SWEEP.toMillis(), SWEEP.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Opens the service for a node that answers no {@link RemoteCalls}. */
  public static RangeService start(
      InetSocketAddress address,
      UUID node,
      LocalRanges ranges,
      LocalSnapshots snapshots,
      RangeServiceSettings settings,
      @Nullable ServiceTls tls,
      MeterRegistry meters,
      LongSupplier nanoTime) {
    return start(address, node, ranges, snapshots, null, List.of(), settings, tls, meters, nanoTime);
  }

  /**
   * Opens the service.
   *
   * @param address where it listens; port 0 takes a free one
   * @param answers answers {@link RemoteCalls}; null to answer none
   * @param others further services at the same port, which their owner closes before this one
   * @param tls null for connections without TLS
   * @param nanoTime counts as System.nanoTime does
   * @throws StoreException when it cannot listen there, or would be open to any host
   */
  public static RangeService start(
      InetSocketAddress address,
      UUID node,
      LocalRanges ranges,
      LocalSnapshots snapshots,
      @Nullable CallHandler answers,
      List<PeerService> others,
      RangeServiceSettings settings,
      @Nullable ServiceTls tls,
      MeterRegistry meters,
      LongSupplier nanoTime) {
    if (tls == null && !settings.plaintextAnywhere()) requireLoopback(address);
    try {
      return new RangeService(address, node, ranges, snapshots, answers, others, settings, tls, meters, nanoTime);
    } catch (IOException e) {
      throw new StoreException("the store service cannot listen on " + address + ": " + e.getMessage(), e);
    }
  }

  private static void requireLoopback(InetSocketAddress address) {
    var ip = address.getAddress();
    if (ip == null || !ip.isLoopbackAddress())
      throw new StoreException(
          "the store service would be open without TLS on " + address
              + ": anyone who reaches it could write to the ranges. Set dunlin.cluster.tls.*, or dunlin.cluster.plaintext where"
              + " no one else can reach it");
  }

  public int port() {
    return server.getPort();
  }

  /** Refuses new requests, waits up to closeTimeout for pending ones, and closes. */
  @Override
  public void close() {
    closing = true;
    server.shutdown();
    long until = System.nanoTime() + settings.closeTimeout().toNanos();
    try {
      while (streams.stream().anyMatch(ServiceStream::busy) && System.nanoTime() < until) TimeUnit.MILLISECONDS.sleep(5);
      write(() -> streams.forEach(ServiceStream::finish));
      if (!server.awaitTermination(1, TimeUnit.SECONDS)) {
        server.shutdownNow();
        if (!server.awaitTermination(1, TimeUnit.SECONDS)) log.warn("The store service has not ended all of its connections");
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      server.shutdownNow();
    } finally {
      writer.shutdown();
      closeParts();
    }
  }

  private void closeParts() {
    files.close();
    if (calls != null) calls.close();
    meters.close();
  }

  /** Ends the service as a crash would: no pending request is answered. */
  void abort() {
    closing = true;
    server.shutdownNow();
    writer.shutdown();
    closeParts();
  }

  UUID node() {
    return node;
  }

  LocalRanges ranges() {
    return ranges;
  }

  RangeServiceSettings settings() {
    return settings;
  }

  ServiceMeters meters() {
    return meters;
  }

  boolean closing() {
    return closing;
  }

  long now() {
    return nanoTime.getAsLong();
  }

  /** Reserves room for a command, or answers false when all streams together have too many bytes. */
  boolean reserve(int commandBytes) {
    if (bytes.addAndGet(commandBytes) <= settings.nodeBytesMax()) return true;
    bytes.addAndGet(-commandBytes);
    return false;
  }

  void release(int commandBytes) {
    bytes.addAndGet(-commandBytes);
  }

  void write(Runnable task) {
    try {
      writer.execute(() -> attempt(task));
    } catch (RejectedExecutionException _) {
      // Closed: there is no stream left to write to.
    }
  }

  /** Logs a failure, which the executor would swallow. */
  private static void attempt(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      log.error("The store service has failed to write to a caller", e);
    }
  }

  void ended(ServiceStream stream) {
    streams.remove(stream);
  }

  /** Refuses callers whose certificate is that of a frontend. */
  private ServerCallHandler<byte[], byte[]> withReplicas(ServerCallHandler<byte[], byte[]> handler) {
    return (call, headers) -> {
      if (!Caller.of(call).isFrontend()) return handler.startCall(call, headers);
      meters.callRefused();
      call.close(Status.PERMISSION_DENIED.withDescription("the caller's certificate is that of a frontend, which has no replicas"), new Metadata());
      return new ServerCall.Listener<>() {};
    };
  }

  private ServerCall.Listener<byte[]> accept(ServerCall<byte[], byte[]> call, Metadata headers) {
    var stream = new ServiceStream(this, call);
    streams.add(stream);
    if (streams.size() > settings.streamsMax()) {
      streams.remove(stream);
      meters.streamRefused();
      call.close(Status.RESOURCE_EXHAUSTED.withDescription("too many streams"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    stream.open();
    return stream;
  }

  private double outstanding() {
    return streams.stream().mapToInt(ServiceStream::outstanding).sum();
  }

  private void sweep() {
    long now = now();
    try {
      for (var stream : streams) stream.sweep(now);
    } catch (RuntimeException e) { // an exception would end the sweeps for good
      log.error("The store service cannot end requests past their deadline", e);
    }
  }
}
