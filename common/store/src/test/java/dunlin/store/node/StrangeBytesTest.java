package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.ReplicaRole;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Trio;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.thirdparty.io.grpc.CallOptions;
import org.apache.ratis.thirdparty.io.grpc.ClientCall;
import org.apache.ratis.thirdparty.io.grpc.ManagedChannel;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.MethodDescriptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What comes to the cluster port and is no call of a peer: it is not answered, and the group goes on as if it had not come. */
class StrangeBytesTest {
  private static final int ROUNDS = 30;
  private static final int SOCKET_MILLIS = 120_000;

  /** As gRPC carries them, for messages of any kind. */
  private static final MethodDescriptor.Marshaller<byte[]> AS_THEY_ARE =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] message) {
          return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream message) {
          try (message) {
            return message.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  @TempDir Path directory;

  static LongStream seeds() {
    return LongStream.generate(ThreadLocalRandom.current()::nextLong).limit(1);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void theyChangeNothing(long seed) throws Exception {
    var random = new Random(seed);
    try (var trio = Trio.start(directory)) {
      assertThat(trio.apply(new Put("a", "1"))).isEqualTo("put");
      var leader = trio.leader();
      long term = leader.range().status().term();
      var channel = NettyChannelBuilder.forAddress("127.0.0.1", leader.port).usePlaintext().build();
      try {
        var streams = new ArrayList<CompletableFuture<Boolean>>();
        for (int i = 0; i < ROUNDS; i++) {
          send(leader.port, noise(random));
          byte[] message = message(leader, term, random);
          for (var method : RaftServerProtocolServiceGrpc.getServiceDescriptor().getMethods()) {
            var answered = isAnswered(channel, method, message);
            if (method.getType() != MethodDescriptor.MethodType.UNARY) streams.add(answered);
            else assertThat(answered).as("%s in round %d", method.getFullMethodName(), i).succeedsWithin(Trio.DEADLINE).isEqualTo(false);
          }
        }
        assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
        assertThat(leader.range().status().term()).isEqualTo(term);
        assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
        // Ratis leaves a stream open whose message names a group that it does not have.
        assertThat(streams).noneMatch(answered -> answered.getNow(false));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  // -------------------------------------------------------------------------------------------------------------- below gRPC

  private static byte[] noise(Random random) {
    byte[] any = new byte[random.nextInt(2_000)];
    random.nextBytes(any);
    return switch (random.nextInt(4)) {
      case 0 -> any;
      case 1 -> behind("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", any);
      case 2 -> behind("\u0016\u0003\u0001", any); // a record of TLS
      default -> behind("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", any);
    };
  }

  private static byte[] behind(String beginning, byte[] rest) {
    byte[] first = beginning.getBytes(StandardCharsets.ISO_8859_1);
    byte[] all = Arrays.copyOf(first, first.length + rest.length);
    System.arraycopy(rest, 0, all, first.length, rest.length);
    return all;
  }

  /** Sends bytes, and waits until the other side has ended the connection. */
  private static void send(int port, byte[] bytes) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(SOCKET_MILLIS);
      try {
        socket.getOutputStream().write(bytes);
        socket.shutdownOutput();
        var _ = socket.getInputStream().readAllBytes();
      } catch (SocketException e) {
        assertThat(e).as("it may end while it is written to").hasMessageMatching("(?i).*(reset|broken pipe|closed).*");
      }
    }
  }

  // ------------------------------------------------------------------------------------------------------- messages of calls

  /** Any bytes, or a stranger's call, damaged or not. */
  private static byte[] message(Trio.Node node, long term, Random random) {
    byte[] any = new byte[random.nextInt(200)];
    random.nextBytes(any);
    if (random.nextInt(3) == 0) return any;
    byte[] call = ForgedCalls.bytes(node, UUID.randomUUID().toString(), term + 1);
    for (int i = random.nextInt(4); i > 0; i--) call[random.nextInt(call.length)] = (byte) random.nextInt();
    return random.nextInt(4) > 0 ? call : Arrays.copyOf(call, random.nextInt(call.length));
  }

  /** Makes a call; completes with whether it was answered, when that is or when it ends. */
  private static CompletableFuture<Boolean> isAnswered(ManagedChannel channel, MethodDescriptor<?, ?> method, byte[] message) {
    var call =
        channel.newCall(
            MethodDescriptor.newBuilder(AS_THEY_ARE, AS_THEY_ARE).setFullMethodName(method.getFullMethodName()).setType(method.getType()).build(),
            CallOptions.DEFAULT);
    var answered = new CompletableFuture<Boolean>();
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] answer) {
            answered.complete(true);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            answered.complete(false);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(message);
    call.halfClose();
    return answered;
  }
}
