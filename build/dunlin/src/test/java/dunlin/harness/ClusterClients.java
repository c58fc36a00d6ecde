package dunlin.harness;

import dunlin.harness.RawClient.Connect;
import java.time.Duration;

/** Connects to brokers of a cluster. A CONNECT that is on its way to a leader when that is lost is refused as one that the server is unavailable for, and tried again. */
public final class ClusterClients {
  private static final int SERVER_UNAVAILABLE = 0x88;
  private static final int SERVER_UNAVAILABLE_IN_MQTT_3 = 3;
  private static final Duration LONG = Duration.ofMinutes(1);

  private record Answered(RawClient client, int reason) {}

  private ClusterClients() {}

  public static RawClient connected(int port, Connect connect) {
    return connected(port, connect.packet());
  }

  /** A client that is connected; fails when the broker refuses it. */
  public static RawClient connected(int port, byte[] connect) {
    var answered = answered(port, connect);
    if (answered.reason() != 0) throw new AssertionError("refused with 0x%02X".formatted(answered.reason()));
    return answered.client();
  }

  /** The reason code with which the broker accepts or refuses a client, which is not kept. */
  public static int answer(int port, byte[] connect) {
    var answered = answered(port, connect);
    answered.client().close();
    return answered.reason();
  }

  private static Answered answered(int port, byte[] connect) {
    for (long begin = System.nanoTime(); ; ) {
      var client = new RawClient(port);
      int reason = client.tryConnect(connect).reason();
      int unavailable = client.connectedWith() < 5 ? SERVER_UNAVAILABLE_IN_MQTT_3 : SERVER_UNAVAILABLE;
      if (reason != unavailable || System.nanoTime() - begin > LONG.toNanos()) return new Answered(client, reason);
      client.close();
    }
  }
}
