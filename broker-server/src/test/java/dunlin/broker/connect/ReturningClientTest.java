package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.broker.RealTiers;
import dunlin.broker.codec.Wire;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that reconnects over another event loop as soon as it notices the end of its connection. */
class ReturningClientTest {
  private static final int LOOPS = 2;

  /** A socket and its event loop. */
  private record Client(Socket socket, DataInputStream in, int loop, Connection connection) implements AutoCloseable {
    static Client of(RealTiers broker) throws IOException {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), broker.frontend.port("tcp"));
      socket.setSoTimeout(60_000);
      var in = new DataInputStream(socket.getInputStream());
      Client[] found = {null};
      Callable<Boolean> accepted =
          () -> {
            for (int i = 0; i < LOOPS && found[0] == null; i++) {
              int loop = i;
              for (Connection each : broker.on(loop, () -> broker.connections(loop).table().all())) {
                if (!(each.context().channel().remoteAddress() instanceof InetSocketAddress remote)) continue;
                if (remote.getPort() == socket.getLocalPort()) found[0] = new Client(socket, in, loop, each);
              }
            }
            return found[0] != null;
          };
      await().until(accepted);
      return found[0];
    }

    /** Connects with a will of QoS 1 to "t"; answers whether a session was present. */
    boolean connect(int expirySeconds, String will) throws IOException {
      socket.getOutputStream().write(
          Wire.packet(0x10, "MQTT", 5, 0x0C, Wire.u16(0), Wire.properties(0x11, Wire.u32(expirySeconds)), "r", Wire.properties(), "t", will));
      assertThat(in.readUnsignedByte()).isEqualTo(0x20);
      byte[] connack = in.readNBytes(in.readUnsignedByte());
      assertThat(connack[1]).isZero();
      return connack[0] == 1;
    }

    /** Blocks the loop between the end of the socket and the connection's handling of it. */
    void holdLoopWhenClosed(RealTiers broker, CountDownLatch until) {
      broker.on(
          loop,
          () ->
              connection.context().channel().closeFuture().addListener(
                  _ -> assertThat(until.await(60, TimeUnit.SECONDS)).isTrue()));
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /** What a client does over its first connection and, on another event loop, its second, while a loop is held. */
  private interface Course {
    void take(RealTiers broker, Client first, Client other, CountDownLatch held) throws Exception;
  }

  /** A client has connected with a will; only the will of its second connection may come, which is sent in the end. */
  private static void connectedTwice(int expirySeconds, Path data, Course course) throws Exception {
    var held = new CountDownLatch(1);
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(LOOPS))) {
      broker.frontend.listen();
      try (Client first = Client.of(broker);
          Client same = Client.of(broker);
          Client other = same.loop() == first.loop() ? Client.of(broker) : same) {
        assertThat(other.loop()).isNotEqualTo(first.loop());
        LoopClient subscriber = LoopClient.connected(broker.frontend, other.loop(), 's', 0);
        subscriber.send("82070001000001" + "74" + "01");
        subscriber.hears("9004000100" + "01");
        first.connect(expirySeconds, "old will");

        course.take(broker, first, other, held);

        other.socket().getOutputStream().write(Wire.packet(0xE0, 4));
        await().until(() -> subscriber.heard().contains(hex("new will")));
        assertThat(subscriber.heard()).as("DISCONNECT 0x00 has discarded the first will").doesNotContain(hex("old will"));
        subscriber.close();
      } finally {
        held.countDown();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 60})
  void doesNotOvertakeItsDisconnect(int expirySeconds, @TempDir Path data) throws Exception {
    connectedTwice(
        expirySeconds,
        data,
        (broker, first, other, held) -> {
          first.holdLoopWhenClosed(broker, held);
          first.socket().getOutputStream().write(Wire.packet(0xE0, 0, Wire.properties(0x11, Wire.u32(0))));
          assertThat(first.in().read()).as("the end of the socket").isEqualTo(-1);
          boolean sessionPresent = other.connect(expirySeconds, "new will");
          held.countDown();

          assertThat(sessionPresent).isFalse();
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 60})
  void hasDisconnectedAlthoughTheLoopHearsOfItsNextConnectionFirst(int expirySeconds, @TempDir Path data) throws Exception {
    connectedTwice(
        expirySeconds,
        data,
        (_, first, other, held) -> {
          first.connection().loop().executor().execute(() -> holdUntil(held));
          first.socket().getOutputStream().write(Wire.packet(0xE0, 0));
          other.connect(expirySeconds, "new will");
          held.countDown();
        });
  }

  private static void holdUntil(CountDownLatch until) {
    try {
      assertThat(until.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
