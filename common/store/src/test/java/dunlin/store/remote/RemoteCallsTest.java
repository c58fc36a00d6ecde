package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.snapshot.SnapshotSource;
import dunlin.store.snapshot.LocalSnapshots;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RemoteCallsTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String HOST = "127.0.0.1";

  /** A node that has no ranges and answers calls. */
  private static final class Answering implements LocalSnapshots, AutoCloseable {
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final RangeService service;

    Answering(int port, RangeService.@Nullable CallHandler answers) {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      service =
          RangeService.start(
              address, new UUID(1, 1), _ -> Optional.empty(), this, answers, List.of(), RangeServiceSettings.defaults(), null, meters,
              System::nanoTime);
    }

    @Override
    public SnapshotSource.Snapshot openSnapshot(RangeId range) {
      throw new StoreException("range '" + range + "' has no replica here");
    }

    @Override
    public SnapshotSource.Snapshot openCurrentSnapshot(RangeId range) {
      return openSnapshot(range);
    }

    @Override
    public byte[] readSnapshot(UUID snapshot, String file, long offset, int bytes) {
      throw new StoreException("snapshot " + snapshot + " is not here");
    }

    double count(String counter) {
      return meters.get(counter).counter().count();
    }

    double gauge(String gauge) {
      return meters.get(gauge).gauge().value();
    }

    @Override
    public void close() {
      service.close();
    }
  }

  private static Answering answering(UnaryOperator<byte[]> answers) {
    return new Answering(0, (request, _) -> answers.apply(request));
  }

  /** Calls with timeouts that are long enough for a busy machine. */
  private static RemoteCalls calls() {
    return new RemoteCalls(null, LONG, new SimpleMeterRegistry());
  }

  private static byte[] call(RemoteCalls calls, int port, byte... request) throws IOException {
    return calls.call(HOST, port, HOST, request, LONG);
  }

  private static byte[] reversed(byte[] request) {
    var answer = new byte[request.length];
    for (int i = 0; i < answer.length; i++) answer[i] = request[answer.length - 1 - i];
    return answer;
  }

  @Test
  void aCallIsAnswered() throws Exception {
    try (var node = answering(RemoteCallsTest::reversed);
        var calls = calls()) {
      assertThat(call(calls, node.service.port(), (byte) 1, (byte) 2, (byte) 3)).containsExactly(3, 2, 1);
      assertThat(call(calls, node.service.port())).isEmpty();

      var large = new byte[RemoteCalls.BYTES_MAX];
      new Random(3).nextBytes(large);
      assertThat(call(calls, node.service.port(), large)).isEqualTo(reversed(large));
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls.bytes") == 0);
    }
  }

  @Test
  void tooLargeCallsAndAnswersAreRefused() throws Exception {
    var meters = new SimpleMeterRegistry();
    try (var node = answering(request -> new byte[RemoteCalls.BYTES_MAX + request.length]);
        var calls = new RemoteCalls(null, LONG, meters)) {
      assertThatThrownBy(() -> call(calls, node.service.port(), new byte[RemoteCalls.BYTES_MAX + 1]))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("at most " + RemoteCalls.BYTES_MAX);
      assertThat(meters.get("dunlin.store.calls.refused").counter().count()).isOne();
      assertThatThrownBy(() -> call(calls, node.service.port(), (byte) 1))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("OUT_OF_RANGE");

      assertThat(call(calls, node.service.port())).hasSize(RemoteCalls.BYTES_MAX);
    }
  }

  @Test
  void tooManyCallsToOneNodeAreRefusedAndOtherNodesAreStillReached() throws Exception {
    var release = new CountDownLatch(1);
    try (var slow = answering(request -> held(release, request));
        var quick = answering(RemoteCallsTest::reversed);
        var calls = calls()) {
      var waiting = begin(calls, slow, RemoteCalls.CALLS_MAX);
      await().atMost(LONG).until(() -> slow.gauge("dunlin.store.service.calls") == RemoteCalls.CALLS_MAX);

      assertThatThrownBy(() -> call(calls, slow.service.port(), (byte) 1)).isInstanceOf(IOException.class).hasMessageContaining("too many calls");
      assertThat(call(calls, quick.service.port(), (byte) 1)).containsExactly(1);

      release.countDown();
      for (var each : waiting) assertThat(each.get(120, TimeUnit.SECONDS)).containsExactly(7);
      assertThat(call(calls, slow.service.port(), (byte) 1)).containsExactly(1);
    } finally {
      release.countDown();
    }
  }

  @Test
  void tooManyCallsAtOneNodeAreRefusedAndEarlierOnesAnswered() throws Exception {
    var release = new CountDownLatch(1);
    var callers = new ArrayList<RemoteCalls>();
    try (var node = answering(request -> held(release, request))) {
      var waiting = new ArrayList<CompletableFuture<byte[]>>();
      while (waiting.size() < CallService.CALLS_MAX) {
        callers.add(calls());
        waiting.addAll(begin(callers.getLast(), node, RemoteCalls.CALLS_MAX));
      }
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls") == CallService.CALLS_MAX);
      callers.add(calls());

      assertThatThrownBy(() -> call(callers.getLast(), node.service.port(), (byte) 1))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("RESOURCE_EXHAUSTED");
      assertThat(node.count("dunlin.store.service.calls.refused")).isOne();

      release.countDown();
      for (var each : waiting) assertThat(each.get(120, TimeUnit.SECONDS)).containsExactly(7);
    } finally {
      release.countDown();
      callers.forEach(RemoteCalls::close);
    }
  }

  private static List<CompletableFuture<byte[]>> begin(RemoteCalls calls, Answering node, int count) {
    var begun = new ArrayList<CompletableFuture<byte[]>>();
    for (int i = 0; i < count; i++) {
      var answer = new CompletableFuture<byte[]>();
      begun.add(answer);
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  answer.complete(call(calls, node.service.port(), (byte) 7));
                } catch (IOException e) {
                  answer.completeExceptionally(e);
                }
              });
    }
    return begun;
  }

  private static byte[] held(CountDownLatch release, byte[] answer) {
    try {
      assertThat(release.await(120, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return answer;
  }

  @Test
  void anAbsentNodeFailsAtOnceAndIsReachedWhenItIsBack() throws Exception {
    try (var calls = calls()) {
      int port;
      try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        port = free.getLocalPort();
      }
      assertThatThrownBy(() -> calls.call(HOST, port, HOST, new byte[1], LONG)).isInstanceOf(IOException.class).hasMessageContaining("UNAVAILABLE");

      try (var node = new Answering(port, (request, _) -> reversed(request))) {
        await()
            .atMost(LONG)
            .ignoreExceptionsInstanceOf(IOException.class)
            .untilAsserted(() -> assertThat(call(calls, node.service.port(), (byte) 1, (byte) 2)).containsExactly(2, 1));
      }
    }
  }

  @Test
  void aSilentPortCostsLessThanTheDeadline() throws Exception {
    try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var calls = new RemoteCalls(null, new SimpleMeterRegistry())) {
      long begun = System.nanoTime();

      assertThatThrownBy(() -> calls.call(HOST, silent.getLocalPort(), HOST, new byte[1], Duration.ofMinutes(10)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("no connection");
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofMinutes(1));
    }
  }

  @Test
  void aNodeThatDoesNotAnswerEndsTheCallAtItsDeadline() throws Exception {
    var release = new CountDownLatch(1);
    try (var node = answering(request -> request.length == 1 ? held(release, request) : request);
        var calls = calls()) {
      assertThat(call(calls, node.service.port())).as("it is reached").isEmpty();
      assertThatThrownBy(() -> calls.call(HOST, node.service.port(), HOST, new byte[1], Duration.ofMillis(300)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("DEADLINE_EXCEEDED");
      release.countDown();

      assertThat(call(calls, node.service.port(), (byte) 1)).containsExactly(1);
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls.bytes") == 0);
    } finally {
      release.countDown();
    }
  }

  @Test
  void aHandlerThatFailsAffectsOnlyItsCall() throws Exception {
    try (var node =
            answering(
                request -> {
                  if (request.length == 0) throw new IllegalStateException("on purpose");
                  if (request.length == 2) throw new AssertionError("on purpose");
                  return request;
                });
        var calls = calls()) {
      assertThatThrownBy(() -> call(calls, node.service.port())).isInstanceOf(IOException.class).hasMessageContaining("INTERNAL");
      assertThatThrownBy(() -> call(calls, node.service.port(), (byte) 1, (byte) 2)).isInstanceOf(IOException.class).hasMessageContaining("INTERNAL");
      assertThat(call(calls, node.service.port(), (byte) 1)).containsExactly(1);
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls.bytes") == 0);
    }
  }

  @Test
  void aServiceWithoutAHandlerRefusesCalls() throws Exception {
    try (var node = new Answering(0, null);
        var calls = calls()) {
      assertThatThrownBy(() -> call(calls, node.service.port(), (byte) 1)).isInstanceOf(IOException.class).hasMessageContaining("UNIMPLEMENTED");
    }
  }

  @Test
  void aCallWithoutAMessageOrWithTwoIsRefused() throws Exception {
    try (var node = answering(RemoteCallsTest::reversed);
        var calls = calls()) {
      assertThat(statusOf(node.service.port(), 0)).isEqualTo(Status.Code.INVALID_ARGUMENT);
      assertThat(statusOf(node.service.port(), 2)).isNotEqualTo(Status.Code.OK);
      assertThat(call(calls, node.service.port(), (byte) 1)).containsExactly(1);
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls.bytes") == 0);
    }
  }

  private static Status.Code statusOf(int port, int messages) throws Exception {
    var channel = NettyChannelBuilder.forAddress(HOST, port, InsecureChannelCredentials.create()).build();
    try {
      // As a stream, since a unary client would not send this.
      var method = ServiceMethods.CALL.toBuilder().setType(MethodDescriptor.MethodType.CLIENT_STREAMING).build();
      var call = channel.newCall(method, CallOptions.DEFAULT);
      var end = new CompletableFuture<Status.Code>();
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              end.complete(status.getCode());
            }
          },
          new Metadata());
      call.request(2);
      for (int i = 0; i < messages; i++) call.sendMessage(new byte[] {1});
      call.halfClose();
      return end.get(120, TimeUnit.SECONDS);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void pendingCallsEndWhenTheCallerCloses() throws Exception {
    var release = new CountDownLatch(1);
    try (var node = answering(request -> held(release, request))) {
      var calls = calls();
      var waiting = begin(calls, node, 1);
      await().atMost(LONG).until(() -> node.gauge("dunlin.store.service.calls") == 1);

      calls.close();

      assertThat(waiting.getFirst()).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(IOException.class);
      assertThatThrownBy(() -> call(calls, node.service.port(), (byte) 1)).isInstanceOf(IOException.class).hasMessageContaining("closed");
    } finally {
      release.countDown();
    }
  }
}
