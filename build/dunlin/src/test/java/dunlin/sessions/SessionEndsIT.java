package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a session's state is deleted, all of it and nothing else; MQTT 5, sections 3.1.2.4 and 3.1.2.11. */
class SessionEndsIT {
  private static final long NEVER = 0xFFFF_FFFFL;

  @Test
  @Tag("pitfall-21")
  @Tag("pitfall-74")
  @Tag("MQTT-3.1.2-23")
  @Tag("MQTT-4.1.0-2")
  void sessionsEndWithTheirExpiryAlsoOverARestart(@TempDir Path data) {
    List<Long> expiries = List.of(0L, 1L, 3_600L, NEVER);
    try (TestBroker broker = TestBroker.on(data)) {
      for (long expiry : expiries) {
        try (var client = RawClient.connected(broker.port(), Connect.of("expiry " + expiry).expiry(expiry))) {
          client.subscribe("t", 1);
          client.publishAndWait("kept by " + expiry, "retained", true);
          client.disconnect();
        }
      }
    }
    await().pollDelay(Duration.ofMillis(1_100)).until(() -> true);
    try (TestBroker broker = TestBroker.on(data)) {
      for (long expiry : expiries) {
        try (var client = RawClient.connected(broker.port(), Connect.of("expiry " + expiry))) {
          assertThat(client.sessionPresent()).as("expiry %d", expiry).isEqualTo(expiry > 1);
        }
      }
      // Retained messages belong to no session: they outlive that of their publisher.
      try (var client = RawClient.connected(broker, "new")) {
        for (long expiry : expiries) {
          client.subscribe("kept by " + expiry, 0);
          assertThat(client.message().text()).isEqualTo("retained");
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  @Tag("pitfall-23")
  @Tag("MQTT-3.1.2-4")
  @Tag("MQTT3-3.1.2-6")
  @Tag("MQTT3-3.1.2-7")
  void aCleanStartDeletesWhatTheSessionHadAndNoRetainedMessage(int level) {
    String clientId = UUID.randomUUID().toString();
    try (TestBroker broker = TestBroker.inMemory();
        var publisher = RawClient.connected(broker, "publisher")) {
      try (var client = connected(broker, level, clientId, false)) {
        client.subscribe("in flight", 2);
        client.subscribe("waiting", 1);
        client.publish("own", 2, 7, "begun and never released");
        client.expect(RawClient.PUBREC);
        publisher.publish("in flight", 2, 1_000, "in flight");
        publisher.expect(RawClient.PUBREC);
        assertThat(client.message().text()).isEqualTo("in flight");
      }
      publisher.publishAndWait("waiting", "waiting", true);
      try (var client = connected(broker, level, clientId, true)) {
        assertThat(client.sessionPresent()).isFalse();
        assertThat(client.untilPong()).isEmpty();
        publisher.publishAndWait("in flight", "for nobody");
        client.pubrel(7);
        assertThat(client.expect(RawClient.PUBCOMP).reason()).isEqualTo(level == 5 ? 0x92 : 0);
        client.subscribe("waiting", 1);
        assertThat(client.message().retain()).isTrue();
      }
    }
  }

  private static RawClient connected(TestBroker broker, int level, String clientId, boolean clean) {
    byte[] properties = RawClient.properties(RawClient.sessionExpiry(60));
    return RawClient.connected(broker.port(), RawClient.connect(level, clean, 0, clientId, properties));
  }
}
