package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.RealTiers;
import dunlin.broker.codec.Wire;
import dunlin.broker.loop.LaneWindow;
import dunlin.broker.loop.Turns;
import dunlin.broker.session.Hold;
import java.io.DataInputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client that closes its side or the whole connection while it is not read from. */
class HeldInputTest {
  /**
   * More than one read of a socket takes, and less than its receive buffer, so that the end of the stream is behind
   * them.
   */
  private static final int PINGS = 20_000;

  @Test
  void isServedWhatItHadSentBefore(@TempDir Path data) throws Exception {
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(1))) {
      broker.frontend.listen();
      try (Socket socket = connected(broker)) {
        Connection connection = connection(broker);
        hold(broker, connection);
        byte[] pings = new byte[2 * PINGS];
        for (int i = 0; i < pings.length; i += 2) pings[i] = (byte) 0xC0;
        socket.getOutputStream().write(pings);
        socket.shutdownOutput();
        loopHasSeenTheSocket(broker);
        resume(broker, connection);

        assertThat(socket.getInputStream().readAllBytes()).hasSize(2 * PINGS);
      }
      assertThat(broker.count("dunlin.frontend.unexpected")).isZero();
    }
  }

  @Test
  void endsWhenItsLastPacketIsNotComplete(@TempDir Path data) throws Exception {
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(1))) {
      broker.frontend.listen();
      try (Socket socket = connected(broker)) {
        Connection connection = connection(broker);
        hold(broker, connection);
        socket.getOutputStream().write(0xC0);
        socket.shutdownOutput();
        loopHasSeenTheSocket(broker);
        resume(broker, connection);

        assertThat(socket.getInputStream().read()).isEqualTo(-1);
        await().until(() -> broker.on(0, () -> broker.connections(0).table().all().isEmpty()));
      }
      assertThat(broker.count("dunlin.frontend.unexpected")).isZero();
    }
  }

  @Test
  void aClientWhoseTurnIsOverIsServedLater(@TempDir Path data) throws Exception {
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(1))) {
      broker.frontend.listen();
      try (Socket socket = connected(broker)) {
        Connection connection = connection(broker);
        Turns.Turn turn = Objects.requireNonNull(connection.turn());
        boolean shared =
            broker.on(
                0,
                () -> {
                  boolean alone = !turn.isShared();
                  connection.loop().turns().join("another tenant");
                  turn.use(TimeUnit.MILLISECONDS.toNanos(100));
                  return alone && turn.isShared() && turn.isOver(0);
                });
        assertThat(shared).isTrue();
        byte[] pings = new byte[2 * PINGS];
        for (int i = 0; i < pings.length; i += 2) pings[i] = (byte) 0xC0;
        socket.getOutputStream().write(pings);
        socket.shutdownOutput();

        assertThat(socket.getInputStream().readAllBytes()).hasSize(2 * PINGS);
      }
      assertThat(broker.count("dunlin.frontend.unexpected")).isZero();
    }
  }

  /** Else each of very many publishers could send one more message, of any size. */
  @Test
  void aPublishWaitsWhileTheWindowOfItsLaneIsExhausted(@TempDir Path data) throws Exception {
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(1))) {
      broker.frontend.listen();
      LaneWindow window;
      byte[] publish = Wire.packet(0x32, "t", Wire.u16(1), Wire.properties());
      try (Socket socket = connected(broker)) {
        window = connection(broker).loop().window();
        int taken = take(broker, window);
        socket.getOutputStream().write(new byte[] {(byte) 0xC0, 0});
        socket.getOutputStream().write(publish);
        assertThat(socket.getInputStream().readNBytes(2)).containsExactly(0xD0, 0);
        await().until(() -> broker.on(0, window::heldConnections) == 1);
        assertThat(broker.on(0, window::messages)).isEqualTo(taken);

        give(broker, window, taken);
        assertThat(socket.getInputStream().read()).as("PUBACK").isEqualTo(0x40);

        take(broker, window);
        socket.getOutputStream().write(publish);
        await().until(() -> broker.on(0, window::heldConnections) == 1);
        Connection connection = connection(broker);
        broker.on(
            0,
            () -> {
              connection.close();
              return true;
            });
      }
      await("a connection that has ended waits for nothing").until(() -> broker.on(0, window::heldConnections) == 0);
      give(broker, window, broker.on(0, window::messages));
      assertThat(broker.count("dunlin.frontend.unexpected")).isZero();
    }
  }

  /** Exhausts a window; answers by how many messages. */
  private static int take(RealTiers broker, LaneWindow window) {
    return broker.on(
        0,
        () -> {
          int taken = 0;
          for (; !window.exhausted(); taken++) window.take(0);
          return taken;
        });
  }

  private static void give(RealTiers broker, LaneWindow window, int taken) {
    broker.on(
        0,
        () -> {
          window.give(taken, 0);
          return true;
        });
  }

  private static Socket connected(RealTiers broker) throws Exception {
    var socket = new Socket(InetAddress.getLoopbackAddress(), broker.frontend.port("tcp"));
    socket.setSoTimeout(60_000);
    socket.getOutputStream().write(Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(0), Wire.properties(), "h"));
    var in = new DataInputStream(socket.getInputStream());
    assertThat(in.readUnsignedByte()).isEqualTo(0x20);
    in.readNBytes(in.readUnsignedByte());
    return socket;
  }

  private static Connection connection(RealTiers broker) {
    return broker.on(0, () -> List.copyOf(broker.connections(0).table().all()).getFirst());
  }

  private static void hold(RealTiers broker, Connection connection) {
    broker.on(
        0,
        () -> {
          connection.hold(Hold.CREDIT);
          return true;
        });
  }

  private static void resume(RealTiers broker, Connection connection) {
    broker.on(
        0,
        () -> {
          connection.resume(Hold.CREDIT);
          return true;
        });
  }

  /** Waits for a round of the loop, which serves all sockets. */
  private static void loopHasSeenTheSocket(RealTiers broker) {
    for (int i = 0; i < 3; i++) broker.on(0, () -> true);
  }
}
