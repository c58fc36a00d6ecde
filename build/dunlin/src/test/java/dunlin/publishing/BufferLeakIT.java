package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sockets' buffers are released however a connection ends; Netty's leak detector watches all of them here. */
class BufferLeakIT {
  private static final int ROUNDS = 40;
  private static final int MESSAGES = 200;
  private static final String LARGE = "x".repeat(3_000);

  @Test
  void noBufferIsLost(@TempDir Path data) {
    String watch = "-Xmx96m -Dio.netty.leakDetection.level=paranoid -Dio.netty.leakDetection.targetRecords=1";
    try (BrokerProcess broker =
        BrokerProcess.startWith(
            watch, data, "dunlin.store.memory=8MiB", "dunlin.store.fsync=false", "dunlin.session.outbound-max=16KiB")) {
      for (int round = 0; round < ROUNDS; round++) {
        exchangeAll(broker, round % 3, "reader" + round % 2);
        breakOff(broker);
        if (round % 10 == 9) broker.collectGarbage();
      }
      // Leaks are reported when the next buffers are allocated.
      broker.collectGarbage();
      exchangeAll(broker, 1, "last");
      assertThat(broker.toString()).doesNotContain("LEAK");
    }
  }

  /** Messages of one QoS, small and large, to a client that reads, to one that does not and to one that is taken over. */
  private static void exchangeAll(BrokerProcess broker, int qos, String reader) {
    try (RawClient slow = new RawClient(broker.port(), 4_096);
        RawClient old = connected(broker, reader);
        RawClient publisher = connected(broker, "publisher")) {
      slow.connect(Connect.of("slow").clean());
      slow.subscribe("t/#", qos);
      old.subscribe("t/#", qos);
      for (int i = 1; i <= MESSAGES; i++) {
        publisher.publish("t/" + i % 7, qos, i, i % 10 == 0 ? LARGE : "small");
        if (i == MESSAGES / 2) connected(broker, reader).reset();
      }
      publisher.untilPong();
    }
  }

  /** Connections that end while a buffer is held: inside a packet, after a wrong one, with unread answers. */
  private static void breakOff(BrokerProcess broker) {
    try (RawClient half = connected(broker, "half");
        RawClient wrong = connected(broker, "wrong");
        RawClient deaf = connected(broker, "deaf");
        RawClient unknown = new RawClient(broker.port())) {
      half.send(RawClient.bytes(0x30, RawClient.varint(5_000), "t", new byte[1_000]));
      half.reset();
      wrong.sendLeniently(RawClient.bytes(0x30, 2, 0, 0, 0xF0, 1, 2, 3));
      wrong.awaitClosed();
      deaf.subscribe("d", 0);
      for (int i = 0; i < MESSAGES; i++) deaf.sendLeniently(RawClient.bytes(0xC0, 0));
      deaf.reset();
      unknown.sendLeniently(RawClient.bytes(0x10, 200, 1, "MQTT"));
    }
  }

  private static RawClient connected(BrokerProcess broker, String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId));
  }
}
