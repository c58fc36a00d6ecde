package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Packet;
import dunlin.harness.ServerRules.Property;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How long a client may be silent; MQTT 5, section 3.1.2.10. The waiting times run in parallel. */
class KeepAliveIT {
  private static final int SERVER_KEEP_ALIVE = 0x13;

  /** With 0 for ever, with the maximum for 27 hours; every packet counts. */
  @Test
  @Tag("pitfall-76")
  @Tag("MQTT-3.1.2-22")
  @Tag("MQTT3-3.1.2-24")
  void aClientMayBeSilentForOneAndAHalfTimesItsKeepAlive(@TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.mqtt.keep-alive-max", "0s", "dunlin.store.fsync", "false"));
        RawClient watcher = RawClient.connected(broker, "watcher")) {
      watcher.subscribe("will/+", 0);
      List<RawClient> silent = new ArrayList<>();
      List<RawClient> patient = new ArrayList<>();
      for (int level : new int[] {3, 4, 5}) {
        for (int keepAlive : new int[] {0, 60, 65_535}) patient.add(connected(broker, level, keepAlive));
        silent.add(connected(broker, level, 1));
      }
      // Each keeps its connection alive in its own way: by whole packets, or by bytes of an incomplete one.
      // Their keep alive is long enough for a machine that stands still for a moment.
      RawClient pinging = connected(broker, 5, 4);
      RawClient publishing = connected(broker, 4, 4);
      RawClient acknowledging = connected(broker, 5, 4);
      long begun = System.nanoTime();
      while (System.nanoTime() - begun < Duration.ofSeconds(7).toNanos()) {
        pinging.ping();
        publishing.publish("nobody's", 0, 0, "x");
        acknowledging.puback(1);
        await().pollDelay(Duration.ofMillis(200)).until(() -> true);
      }
      for (RawClient client : silent) {
        List<Packet> last = client.awaitClosed();
        if (client == silent.getLast()) assertThat(last).singleElement().extracting(Packet::reason).isEqualTo(0x8D);
        else assertThat(last).isEmpty();
      }
      List<String> wills = List.of(watcher.message().topic(), watcher.message().topic(), watcher.message().topic());
      assertThat(wills).containsExactlyInAnyOrder("will/3-1", "will/4-1", "will/5-1");
      for (RawClient client : patient) client.ping();
      for (RawClient client : List.of(pinging, publishing, acknowledging)) client.ping();
      assertThat(watcher.untilPong()).isEmpty();

      patient.forEach(RawClient::disconnect);
      for (RawClient client : List.of(pinging, publishing, acknowledging)) client.disconnect();
    }
  }

  /** The server's keep alive overrides that of a client of MQTT 5; MQTT 3 cannot announce one. */
  @Test
  @Tag("pitfall-76")
  @Tag("MQTT-3.1.2-21")
  @Tag("MQTT-3.2.2-21")
  @Tag("MQTT-3.2.2-22")
  void theServersKeepAliveOverridesTheClients(@TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.mqtt.keep-alive-max", "1s", "dunlin.store.fsync", "false"));
        RawClient asked = connected(broker, 5, 65_535);
        RawClient none = connected(broker, 5, 0);
        RawClient old = connected(broker, 4, 0);
        RawClient oldest = connected(broker, 3, 65_535)) {
      for (int keepAlive : new int[] {0, 1, 2, 65_535}) {
        try (RawClient client = new RawClient(broker.port())) {
          Packet connack = client.connect(RawClient.connect(5, true, keepAlive, "c", RawClient.noProperties()));
          OptionalLong granted =
              connack.properties().stream().filter(each -> each.id() == SERVER_KEEP_ALIVE).mapToLong(Property::number).findFirst();
          assertThat(granted).isEqualTo(keepAlive == 1 ? OptionalLong.empty() : OptionalLong.of(1));
        }
      }
      asked.expectDisconnect(0x8D);
      none.expectDisconnect(0x8D);
      old.ping();
      oldest.ping();
    }
  }

  private static RawClient connected(TestBroker broker, int level, int keepAlive) {
    String name = level + "-" + keepAlive;
    byte[] none = level == 5 ? RawClient.noProperties() : new byte[0];
    String clientId = name + Long.toString(System.nanoTime(), 36);
    return RawClient.connected(
        broker.port(), RawClient.connect(level, 6, keepAlive, RawClient.noProperties(), clientId, none, "will/" + name, "will"));
  }
}
