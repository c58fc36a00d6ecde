package dunlin;

import static dunlin.PacketBytes.properties;
import static dunlin.PacketBytes.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.RawClient.Connect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What clients see when the links by which the retain tier and the dist tier are called are lost. */
class LostCallsIT {
  private static final int UNSPECIFIED_ERROR = 0x80;
  private static final int IMPLEMENTATION_SPECIFIC_ERROR = 0x83;
  private static final int LOSSES = 3;

  @Test
  void clientsAreToldAndStayConnected(@TempDir Path data) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      loseLinks(WiredSeams.overQueues(seed), data);
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void clientsAreToldAndStayConnectedOverGrpc(@TempDir Path data) {
    loseLinks(WiredSeams.overGrpc(), data);
  }

  private static void loseLinks(WiredSeams seams, Path data) {
    try (TestBroker broker = TestBroker.over(seams, data)) {
      var publisher = RawClient.connected(broker.port(), Connect.of("publisher").clean().expiry(0));
      var passing = RawClient.connected(broker.port(), Connect.of("passing").clean().expiry(0));
      var durable = RawClient.connected(broker.port(), Connect.of("durable").clean());
      for (int i = 1; i <= LOSSES; i++) {
        String number = String.valueOf(i);
        long lost = seams.lostCalls();
        int links = seams.loseCalls();
        assertThat(links).isEqualTo(3);
        await().atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(5)).until(() -> seams.lostCalls() == lost + links);

        succeeds(IMPLEMENTATION_SPECIFIC_ERROR, () -> publisher.publishAndWait("kept", "message " + number, true));
        succeeds(UNSPECIFIED_ERROR, () -> subscribes(passing, "passing/" + number));
        succeeds(UNSPECIFIED_ERROR, () -> subscribes(durable, "durable/" + number));

        assertThat(publisher.publishAndWait("passing/" + number, "to passing " + number)).isZero();
        assertThat(acknowledged(passing)).isEqualTo("to passing " + number);
        assertThat(publisher.publishAndWait("durable/" + number, "to durable " + number)).isZero();
        assertThat(acknowledged(durable)).isEqualTo("to durable " + number);
        var reader = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0));
        reader.subscribe("kept", 1);
        assertThat(acknowledged(reader)).isEqualTo("message " + number);
        reader.disconnect();
      }
      publisher.disconnect();
      passing.disconnect();
      durable.disconnect();
    }
  }

  /** Is refused with a reason code until the links are back. */
  private static void succeeds(int refusal, IntSupplier asks) {
    await().atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(20)).until(
        () -> {
          int reason = asks.getAsInt();
          if (reason >= 0x80) assertThat(reason).isEqualTo(refusal);
          return reason < 0x80;
        });
  }

  private static int subscribes(RawClient client, String filter) {
    client.send(RawClient.SUBSCRIBE, u16(1), properties(), filter, 1);
    return client.next(RawClient.SUBACK).reason();
  }

  private static String acknowledged(RawClient client) {
    var publish = client.next(RawClient.PUBLISH);
    client.puback(publish.packetId());
    return publish.text();
  }
}
