package dunlin.store.remote;

import com.google.protobuf.ByteString;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.remote.wire.Wire;
import dunlin.store.snapshot.LocalSnapshots;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends snapshots to other nodes whose replicas are too far behind. */
final class SnapshotService implements AutoCloseable {
  /*
   * Owner: calls come on gRPC's event loops and are answered by threads of its own, which may block.
   * Bounds: THREADS read, WAITING_MAX calls wait. Full: RESOURCE_EXHAUSTED, and counted; the caller retries.
   * Failure: a failed call reports the reason to its caller. Calls are independent of each other, so a download resumes
   * where it was.
   */
  private static final Logger log = LoggerFactory.getLogger(SnapshotService.class);
  private static final int THREADS = 2;
  private static final int WAITING_MAX = 32;

  private final UUID node;
  private final LocalSnapshots snapshots;
  private final ServiceMeters meters;
  private final ThreadPoolExecutor readers =
      new ThreadPoolExecutor(
          THREADS,
          THREADS,
          10,
          TimeUnit.SECONDS,
          new ArrayBlockingQueue<>(WAITING_MAX),
          Thread.ofPlatform().daemon().name("dunlin-store-snapshot-", 0).factory());

  SnapshotService(UUID node, LocalSnapshots snapshots, ServiceMeters meters) {
    this.node = node;
    this.snapshots = snapshots;
    this.meters = meters;
    readers.allowCoreThreadTimeOut(true);
  }

  ServerCallHandler<byte[], byte[]> opening() {
    return handler(this::open);
  }

  ServerCallHandler<byte[], byte[]> reading() {
    return handler(this::read);
  }

  @Override
  public void close() {
    readers.shutdownNow();
  }

  private byte[] open(byte[] message) {
    var request = Frames.read(Wire.SnapshotRequest.parser(), message, 0);
    requireUs(request.getNode());
    var range = new RangeId(request.getKind(), Locations.id(request.getRange()));
    var opened = request.getCurrent() ? snapshots.openCurrentSnapshot(range) : snapshots.openSnapshot(range);
    var answer = Wire.Snapshot.newBuilder().setId(ByteString.copyFrom(Locations.bytes(opened.id())));
    for (var file : opened.files())
      answer.addFiles(Wire.File.newBuilder().setName(file.name()).setBytes(file.bytes()).setChecksum(file.checksum()));
    return answer.build().toByteArray();
  }

  private byte[] read(byte[] message) {
    var request = Frames.read(Wire.ChunkRequest.parser(), message, 0);
    requireUs(request.getNode());
    byte[] chunk =
        snapshots.readSnapshot(
            Locations.id(request.getSnapshot()), request.getFile(), request.getOffset(), request.getBytes());
    meters.chunk(chunk.length);
    return chunk;
  }

  private void requireUs(ByteString meant) {
    if (!Locations.id(meant).equals(node))
      throw Status.FAILED_PRECONDITION.withDescription("this is node " + node).asRuntimeException();
  }

  private ServerCallHandler<byte[], byte[]> handler(UnaryOperator<byte[]> answer) {
    return (call, _) -> {
      call.request(2); // one message, and proof that there is no second one
      return new ServerCall.Listener<>() {
        private byte @Nullable [] request;

        @Override
        public void onMessage(byte[] message) {
          request = message;
        }

        @Override
        public void onHalfClose() {
          var asked = request;
          if (asked == null) {
            OneAnswer.refuse(call, Status.INVALID_ARGUMENT.withDescription("a call without a message"));
            return;
          }
          try {
            readers.execute(() -> answer(call, asked, answer));
          } catch (RejectedExecutionException _) {
            meters.chunkRefused();
            OneAnswer.refuse(call, Status.RESOURCE_EXHAUSTED.withDescription("too many calls for snapshots"));
          }
        }
      };
    };
  }

  private void answer(ServerCall<byte[], byte[]> call, byte[] request, UnaryOperator<byte[]> answer) {
    if (call.isCancelled()) return; // a cancelled call is closed already
    byte[] result;
    try {
      result = answer.apply(request);
    } catch (RuntimeException | Error e) { // whatever it was, the caller must not wait for its deadline
      meters.chunkRefused();
      OneAnswer.refuse(call, statusOf(e));
      return;
    }
    OneAnswer.send(call, result);
  }

  private static Status statusOf(Throwable failure) {
    return switch (failure) {
      case StatusRuntimeException e -> e.getStatus();
      case FrameException e -> Status.INVALID_ARGUMENT.withDescription(e.getMessage());
      case IllegalArgumentException e -> Status.INVALID_ARGUMENT.withDescription(e.getMessage());
      case StoreException e -> Status.UNAVAILABLE.withDescription(e.getMessage());
      default -> {
        log.error("A call for a snapshot has failed", failure);
        yield Status.INTERNAL.withDescription("the node has failed to read a snapshot");
      }
    };
  }
}
