package dunlin.load.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dunlin.load.count.Meters;
import dunlin.load.plan.Endpoint;
import dunlin.load.remote.wire.Wire;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages arrive complete, or are refused. */
class ProtocolTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void mergedHistogramsEqualTheSum(long seed) throws Exception {
    System.out.println("seed " + seed);
    var random = new Random(seed);
    Histogram all = Meters.newHistogram();
    Histogram merged = Meters.newHistogram();
    for (int worker = 0; worker < 4; worker++) {
      Histogram own = Meters.newHistogram();
      for (int i = random.nextInt(5_000); i >= 0; i--) {
        long micros = (long) Math.pow(10, random.nextDouble() * 9.5);
        own.recordValue(micros);
        all.recordValue(micros);
      }
      merged.add(WireForm.histogram(WireForm.histogram(own)));
    }

    assertThat(merged).isEqualTo(all);
    assertThat(merged.getTotalCount()).isEqualTo(all.getTotalCount());
  }

  @Test
  void aHistogramOfAnotherKindIsRefused() {
    var other = new Histogram(1_000_000, 5);
    other.recordValue(7);

    assertThatThrownBy(() -> WireForm.histogram(WireForm.histogram(other))).isInstanceOf(LostException.class).hasMessageContaining("of another kind");
    assertThatThrownBy(() -> WireForm.histogram(ByteString.copyFrom(new byte[3]))).isInstanceOf(LostException.class);
    byte[] torn = WireForm.histogram(Meters.newHistogram()).toByteArray();
    torn[0] ^= 0x55;
    assertThatThrownBy(() -> WireForm.histogram(ByteString.copyFrom(torn))).isInstanceOf(LostException.class);
  }

  private static WorkerServer worker() {
    return new WorkerServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), new WorkerSecurity.PlainText(false), Path.of(""), List.of(), new PrintWriter(Writer.nullWriter()));
  }

  /** Sends messages to a worker, and returns the status with which it ends the call. */
  private static Status end(WorkerServer worker, Wire.FromDirector... messages) throws Exception {
    ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", worker.port(), InsecureChannelCredentials.create()).build();
    try {
      var ended = new CompletableFuture<Status>();
      ClientCall<Wire.FromDirector, Wire.FromWorker> call = channel.newCall(Protocol.RUN, CallOptions.DEFAULT);
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              ended.complete(status);
            }
          },
          new Metadata());
      call.request(100);
      for (Wire.FromDirector message : messages) call.sendMessage(message);
      return ended.get(30, TimeUnit.SECONDS);
    } finally {
      channel.shutdownNow();
    }
  }

  private static Wire.FromDirector hello(int version) {
    return Wire.FromDirector.newBuilder().setHello(Wire.Hello.newBuilder().setVersion(version)).build();
  }

  private static Wire.FromDirector order(String scenario, int share, int shares) {
    return Wire.FromDirector.newBuilder().setOrder(Wire.Order.newBuilder().setFile("s.yaml").setScenario(scenario).setShare(share).setShares(shares)).build();
  }

  @Test
  void aProtocolErrorOfTheDirectorIsReported() throws Exception {
    try (var worker = worker()) {
      assertThat(WorkerLink.why(end(worker, hello(99)))).isEqualTo("speaks version 2 of the protocol, and the director version 99: take the same release of the tool for both");
      assertThat(WorkerLink.why(end(worker, order("", 0, 1)))).isEqualTo("does not expect order of the director now");
      assertThat(WorkerLink.why(end(worker, hello(Protocol.VERSION), order("pools: [", 0, 1)))).contains("s.yaml", "this is no YAML");
      String fine = "{pools: {a: {clients: 1}}, phases: [{connect: a}]}";
      assertThat(WorkerLink.why(end(worker, hello(Protocol.VERSION), order(fine, 3, 2)))).contains("there is no share 3 of 2");
      assertThat(WorkerLink.why(end(worker, hello(Protocol.VERSION), order(fine, 0, 1), Wire.FromDirector.newBuilder().setBegin(Wire.Begin.newBuilder().setStep(7)).build()))).isEqualTo("has no phase 7");
      assertThat(WorkerLink.why(end(worker, hello(Protocol.VERSION), order(fine, 0, 1), Wire.FromDirector.getDefaultInstance()))).contains("does not expect");
    }
  }

  @Test
  void aSecondDirectorIsRefused() throws Exception {
    try (var worker = worker()) {
      var first = new WorkerLink(new Endpoint("127.0.0.1", worker.port()), new dunlin.load.plan.Share(0, 1), new WorkerSecurity.PlainText(false));
      first.greet();

      assertThat(WorkerLink.why(end(worker, hello(Protocol.VERSION)))).isEqualTo("has another run");

      first.close();
    }
  }
}
