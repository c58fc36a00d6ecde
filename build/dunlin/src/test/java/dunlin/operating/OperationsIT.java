package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import dunlin.retain.RetainedMessagesMXBean;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.management.JMX;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Operations on sessions and retained messages by JMX. */
class OperationsIT {
  private static final String TENANT = "default";
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final Map<String, String> SETTINGS = Map.of("dunlin.store.fsync", "false");

  @TempDir private Path data;

  private static SessionsMXBean sessions(TestBroker broker) {
    return broker.bean("Sessions", SessionsMXBean.class);
  }

  private static RetainedMessagesMXBean retained(TestBroker broker) {
    return broker.bean("RetainedMessages", RetainedMessagesMXBean.class);
  }

  private static List<String> names(List<SessionRow> rows) {
    return rows.stream().map(SessionRow::clientId).toList();
  }

  @Test
  void sessionsAreListedByPrefixAPageAtATime() {
    try (var broker = TestBroker.on(data, SETTINGS);
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      for (String id : List.of("meter-2", "meter-1", "meter-3", "van-1")) {
        RawClient.connected(broker.port(), Connect.of(id)).disconnectAfter(each -> each.subscribe("to/" + id, 1));
      }
      publisher.publishAndWait("to/meter-2", "0123456789");
      var sessions = sessions(broker);

      assertThat(sessions.getSessions()).isEqualTo(5);
      assertThat(names(sessions.list(TENANT, "", "", 1000))).containsExactly("meter-1", "meter-2", "meter-3", "publisher", "van-1");
      assertThat(names(sessions.list(TENANT, "meter-", "", 2))).containsExactly("meter-1", "meter-2");
      assertThat(names(sessions.list(TENANT, "meter-", "meter-2", 2))).containsExactly("meter-3");
      assertThat(sessions.list("another", "", "", 2)).isEmpty();
      var waiting = sessions.list(TENANT, "meter-2", "", 1).getFirst();
      assertThat(waiting.connected()).isFalse();
      assertThat(waiting.subscriptions()).isEqualTo(1);
      assertThat(waiting.messages()).isEqualTo(1);
      assertThat(waiting.bytes()).isGreaterThan(10);
      assertThat(sessions.list(TENANT, "publisher", "", 1).getFirst().connected()).isTrue();
    }
  }

  @Test
  void aClientIsDisconnectedAndKeepsItsSession() {
    try (var broker = TestBroker.on(data, SETTINGS);
        var watcher = RawClient.connected(broker.port(), Connect.of("watcher").expiry(0));
        var client = RawClient.connected(broker.port(), Connect.of("van").will("wills", "lost", 1, 0))) {
      watcher.subscribe("wills", 1);

      assertThat(sessions(broker).disconnect(TENANT, "van")).isTrue();

      Packet disconnect = client.expect(RawClient.DISCONNECT);
      assertThat(disconnect.reason()).isEqualTo(ADMINISTRATIVE_ACTION);
      client.expectClosed();
      assertThat(watcher.next(RawClient.PUBLISH).text()).isEqualTo("lost");
      await().atMost(TestBroker.SOON).until(() -> !sessions(broker).disconnect(TENANT, "van"));
      assertThat(sessions(broker).disconnect(TENANT, "none-such")).isFalse();
      try (var again = RawClient.connected(broker.port(), Connect.of("van"))) {
        assertThat(again.sessionPresent()).isTrue();
      }
    }
  }

  @Test
  void sessionsAreDeletedAndStayDeleted() {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      for (int i = 0; i < 10; i++) {
        RawClient.connected(broker.port(), Connect.of("meter-" + i)).disconnectAfter(each -> each.subscribe("all", 1));
      }
      RawClient.connected(broker.port(), Connect.of("van")).disconnectAfter(each -> each.subscribe("all", 1));
      try (var online = RawClient.connected(broker.port(), Connect.of("meter-online").will("wills", "deleted", 1, 600));
          var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
        publisher.subscribe("wills", 1);
        publisher.publishAndWait("all", "waits");

        assertThat(sessions(broker).delete(TENANT, "meter-", 4)).isEqualTo(4);
        assertThat(sessions(broker).delete(TENANT, "meter-", 1000)).isEqualTo(7);
        assertThat(sessions(broker).delete(TENANT, "meter-", 1000)).isZero();

        assertThat(online.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
        online.expectClosed();
        assertThat(publisher.next(RawClient.PUBLISH).text()).as("the will of a session that has ended").isEqualTo("deleted");
      }
      assertThat(names(sessions(broker).list(TENANT, "", "", 10))).contains("van").doesNotContain("meter-1");
    }
    try (var broker = TestBroker.on(data, SETTINGS);
        var meter = RawClient.connected(broker.port(), Connect.of("meter-1"));
        var van = RawClient.connected(broker.port(), Connect.of("van"))) {
      assertThat(meter.sessionPresent()).isFalse();
      assertThat(meter.untilPong()).isEmpty();
      assertThat(van.next(RawClient.PUBLISH).text()).isEqualTo("waits");
    }
  }

  @Test
  void retainedMessagesAreListedAndDeletedByPrefix() {
    try (var broker = TestBroker.on(data, SETTINGS);
        var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      for (String topic : List.of("a", "a/b", "a!", "a/b/c", "ab", "z")) client.publishAndWait(topic, "payload of " + topic, true);
      var retained = retained(broker);

      assertThat(retained.list(TENANT, "a", "", 1000)).extracting(RetainedRow::topic).containsExactly("a", "a/b", "a/b/c", "a!", "ab");
      assertThat(retained.list(TENANT, "a", "a/b", 2)).extracting(RetainedRow::topic).containsExactly("a/b/c", "a!");
      assertThat(retained.list(TENANT, "z", "a", 10)).extracting(RetainedRow::topic).containsExactly("z");
      assertThat(retained.list(TENANT, "z", "", 10).getFirst().bytes()).isGreaterThan("payload of z".length());
      assertThat(retained.list("another", "", "", 10)).isEmpty();
      assertThat(retained.getTopics()).isEqualTo(6);

      assertThat(retained.delete(TENANT, "a/", 1)).isEqualTo(1);
      assertThat(retained.delete(TENANT, "a/", 1000)).isEqualTo(1);
      assertThat(retained.delete(TENANT, "a/", 1000)).isZero();

      client.subscribe("#", 1);
      assertThat(client.next(4, RawClient.PUBLISH)).extracting(Packet::text)
          .containsExactlyInAnyOrder("payload of a", "payload of a!", "payload of ab", "payload of z");
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  void invalidArgumentsAreRefused() {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      assertThatThrownBy(() -> sessions(broker).list(TENANT, "", "", 0)).hasMessageContaining("max is 0; it must be from 1 to 1000");
      assertThatThrownBy(() -> sessions(broker).delete(TENANT, "", 1_000_001)).hasMessageContaining("it must be from 1 to 1000000");
      assertThatThrownBy(() -> retained(broker).list(TENANT, "", "", 1001)).hasMessageContaining("max is 1001; it must be from 1 to 1000");
      assertThatThrownBy(() -> retained(broker).delete(TENANT, "", -1)).hasMessageContaining("max is -1");
    }
  }
}
