package dunlin.store.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dunlin.store.RangeId;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.remote.wire.Wire;
import dunlin.store.serve.RangeLocation.Peer;
import dunlin.store.snapshot.SnapshotSource;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Fetches snapshots from the store services of other nodes, by connections of its own, so that requests never wait behind them. */
public final class RemoteSnapshots implements SnapshotSource, AutoCloseable {
  /*
   * Owner: any thread that may block; the lock guards the channels.
   * Bounds: a channel for each node that was asked, which ends its connection when it is idle; one call for each
   * thread.
   * Failure: every call ends within its timeout, with an IOException for any failure.
   */
  private static final Duration OPEN_TIMEOUT = Duration.ofMinutes(5); // the node reads all files once, for their checksums
  private static final Duration READ_TIMEOUT = Duration.ofSeconds(30);

  private final Function<UUID, Optional<Peer>> addresses;
  private final @Nullable ServiceTls tls;

  @GuardedBy("channels")
  private final Map<Peer, ManagedChannel> channels = new HashMap<>();

  @GuardedBy("channels")
  private boolean closed;

  /**
   * @param addresses where the store service of a node is
   * @param tls null for connections without TLS
   */
  public RemoteSnapshots(Function<UUID, Optional<Peer>> addresses, @Nullable ServiceTls tls) {
    this.addresses = addresses;
    this.tls = tls;
  }

  @Override
  public Snapshot open(UUID node, RangeId range) throws IOException {
    return open(node, range, false);
  }

  /** Opens a new snapshot at the node that leads the range, with everything that was acknowledged before the call. */
  public Snapshot openCurrent(UUID node, RangeId range) throws IOException {
    return open(node, range, true);
  }

  private Snapshot open(UUID node, RangeId range, boolean current) throws IOException {
    var request =
        Wire.SnapshotRequest.newBuilder()
            .setNode(ByteString.copyFrom(Locations.bytes(node)))
            .setKind(range.kind())
            .setRange(ByteString.copyFrom(Locations.bytes(range.uuid())))
            .setCurrent(current);
    byte[] message = call(node, ServiceMethods.OPEN_SNAPSHOT, request.build(), OPEN_TIMEOUT);
    try {
      var answer = Frames.read(Wire.Snapshot.parser(), message, 0);
      var files = answer.getFilesList().stream().map(file -> new File(file.getName(), file.getBytes(), file.getChecksum()));
      return new Snapshot(Locations.id(answer.getId()), files.toList());
    } catch (FrameException e) {
      throw new IOException("node " + node + ": " + e.getMessage(), e);
    }
  }

  @Override
  public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
    var request =
        Wire.ChunkRequest.newBuilder()
            .setNode(ByteString.copyFrom(Locations.bytes(node)))
            .setSnapshot(ByteString.copyFrom(Locations.bytes(snapshot)))
            .setFile(file)
            .setOffset(offset)
            .setBytes(bytes);
    byte[] chunk = call(node, ServiceMethods.READ_SNAPSHOT, request.build(), READ_TIMEOUT);
    if (chunk.length != bytes) throw new IOException("node " + node + ": " + chunk.length + " bytes came of " + bytes + " of " + file);
    return chunk;
  }

  @Override
  public void close() {
    synchronized (channels) {
      closed = true;
      channels.values().forEach(ManagedChannel::shutdownNow);
      channels.clear();
    }
  }

  private ManagedChannel channel(UUID node) throws IOException {
    var peer = addresses.apply(node).orElseThrow(() -> new IOException("unknown address of node " + node));
    synchronized (channels) {
      if (closed) throw new IOException("closed");
      var known = channels.get(peer);
      if (known != null) {
        known.resetConnectBackoff();
        return known;
      }
      // The channel to the node's former address is out of date.
      channels.entrySet().removeIf(entry -> entry.getKey().node().equals(node) && entry.getValue().shutdownNow() != null);
      var credentials = tls == null ? InsecureChannelCredentials.create() : tls.client();
      var channel =
          NettyChannelBuilder.forAddress(peer.host(), peer.port(), credentials)
              .directExecutor()
              .disableRetry()
              .idleTimeout(1, TimeUnit.MINUTES)
              .build();
      channels.put(peer, channel);
      return channel;
    }
  }

  private byte[] call(UUID node, MethodDescriptor<byte[], byte[]> method, MessageLite request, Duration timeout) throws IOException {
    return UnaryCall.start(channel(node), method, request.toByteArray(), timeout, "node " + node).answer();
  }
}
