package dunlin.store.remote;

import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dunlin.store.remote.wire.Wire;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A caller that sends any frames, and reads replies only when the test wants it. */
final class RawStream implements AutoCloseable {
  private final ManagedChannel channel;
  private final ClientCall<byte[], byte[]> call;
  private final List<byte[]> received = new CopyOnWriteArrayList<>();
  private final CompletableFuture<@Nullable Void> opened = new CompletableFuture<>();
  private final CompletableFuture<Status> end = new CompletableFuture<>();

  RawStream(int port) {
    channel =
        NettyChannelBuilder.forAddress("localhost", port, InsecureChannelCredentials.create())
            .maxInboundMessageSize(64 * 1024 * 1024)
            .flowControlWindow(1024 * 1024) // fixed, so that it does not grow by itself
            .build();
    call = channel.newCall(ServiceMethods.FRAMES, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onHeaders(Metadata headers) {
            opened.complete(null);
          }

          @Override
          public void onMessage(byte[] frame) {
            received.add(frame);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
  }

  static byte[] hello(UUID node) {
    return Frames.control(
        Frames.HELLO,
        Wire.Hello.newBuilder()
            .setVersion(Frames.VERSION)
            .setCaller("raw")
            .setNode(ByteString.copyFrom(Locations.bytes(node)))
            .setFrameBytesMax(1 << 20)
            .build());
  }

  /** A frame with one command for each number. */
  static byte[] requests(UUID range, long epoch, boolean ordered, int commandBytes, long... numbers) {
    int bytes = Frames.REQUESTS_HEADER_BYTES + numbers.length * (Frames.REQUEST_HEADER_BYTES + commandBytes);
    var frame = new byte[bytes];
    var out = ByteBuffer.wrap(frame);
    Frames.beginRequests(out, range, epoch, ordered, numbers.length);
    for (long number : numbers) {
      var command = new byte[commandBytes];
      ByteBuffer.wrap(command).putLong(number);
      Frames.appendRequest(out, number, Frames.Kind.COMMAND, 60_000, command);
    }
    return frame;
  }

  void send(byte[] frame) {
    call.sendMessage(frame);
  }

  void read(int frames) {
    call.request(frames);
  }

  /** Waits until the service has accepted the stream. */
  void awaitOpen() throws InterruptedException, ExecutionException, TimeoutException {
    opened.get(120, TimeUnit.SECONDS);
  }

  /** Sends a hello and waits for the welcome. */
  void greet(UUID node) {
    send(hello(node));
    read(1);
    await().atMost(Duration.ofMinutes(2)).until(() -> !received.isEmpty());
  }

  List<Frames.Reply> awaitReplies(int count) {
    await().atMost(Duration.ofMinutes(2)).until(() -> replies().size() >= count);
    return replies();
  }

  List<Frames.Reply> replies() {
    var replies = new ArrayList<Frames.Reply>();
    for (var frame : received) if (Frames.kind(frame) == Frames.REPLIES) replies.addAll(Frames.replies(frame));
    return replies;
  }

  Status awaitEnd() throws InterruptedException, ExecutionException, TimeoutException {
    read(1000); // the end comes after unread frames
    return end.get(120, TimeUnit.SECONDS);
  }

  boolean open() {
    return !end.isDone();
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
