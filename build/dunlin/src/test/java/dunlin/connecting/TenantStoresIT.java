package dunlin.connecting;

import static dunlin.connecting.TenantLimitsIT.connecting;
import static dunlin.connecting.TenantLimitsIT.green;
import static dunlin.connecting.TenantLimitsIT.limited;
import static dunlin.connecting.TenantLimitsIT.subscribing;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.runtime.DropReason;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of what tenants have in the stores: one tenant is at its limit, and clients of another do not notice. */
class TenantStoresIT {
  private static final int FULL = 0x97;
  private static final String KIB = "x".repeat(1_000);

  @TempDir Path directory;

  private TestBroker broker(String limitsOfBlue, String... settings) {
    return TenantLimitsIT.broker(directory, limitsOfBlue, settings);
  }

  private static RawClient connected(int port) {
    return RawClient.connected(port, connecting(5));
  }

  private static int retain(RawClient client, String topic, String payload) {
    return client.publishAndWait(topic, payload, true);
  }

  @Test
  void aRetainedTopicTooManyIsRefusedUntilAnotherIsRemoved() {
    try (var events = new LoggedLines("dunlin.events", Level.INFO);
        TestBroker broker = broker("retained=2");
        RawClient blue = connected(broker.port());
        RawClient green = connected(green(broker))) {
      assertThat(retain(blue, "a", "1")).isNotEqualTo(FULL);
      assertThat(retain(blue, "b", "1")).isNotEqualTo(FULL);
      for (int i = 0; i < 5; i++) assertThat(retain(blue, "c", "1")).isEqualTo(FULL);
      assertThat(retain(blue, "b", "2")).as("a topic that has a message").isNotEqualTo(FULL);
      for (String topic : new String[] {"a", "b", "c"}) assertThat(retain(green, topic, "1")).as("another tenant").isNotEqualTo(FULL);
      assertThat(limited(broker, "retained")).isEqualTo(5);
      assertThat(events.of("tenant-limited")).as("once a minute").singleElement().asString().contains("tenant=blue limit=retained max=2");

      blue.publish("c", "1", 0, 0, false, true);
      await().atMost(TestBroker.SOON).until(() -> limited(broker, "retained") == 6); // QoS 0 is not acknowledged
      assertThat(broker.frontend().publishes().dropped(DropReason.RETAINED_FULL)).as("delivered, though not retained").isEqualTo(5);

      assertThat(retain(blue, "a", "")).isNotEqualTo(FULL);
      assertThat(retain(blue, "c", "1")).isNotEqualTo(FULL);
    }
    try (TestBroker again = broker("retained=2");
        RawClient blue = connected(again.port());
        RawClient green = connected(green(again))) {
      assertThat(retain(blue, "d", "1")).as("after a restart").isEqualTo(FULL);
      assertThat(retain(green, "d", "1")).isNotEqualTo(FULL);
    }
  }

  @Test
  void retainedBytesTooManyAreRefused() {
    try (TestBroker broker = broker("retained-bytes=2KiB");
        RawClient blue = connected(broker.port());
        RawClient green = connected(green(broker))) {
      assertThat(retain(blue, "a", KIB)).isNotEqualTo(FULL);
      assertThat(retain(blue, "b", KIB)).isEqualTo(FULL);
      assertThat(retain(blue, "a", KIB)).as("one of the same size").isNotEqualTo(FULL);
      for (String topic : new String[] {"a", "b", "c"}) assertThat(retain(green, topic, KIB)).as("another tenant").isNotEqualTo(FULL);
      assertThat(limited(broker, "retained-bytes")).isEqualTo(1);
    }
  }

  /** The only inbox of the tenant may hold all of the limit. */
  @Test
  void aFullInboxOfATenantRejectsAndIsReadAsEver() {
    try (TestBroker broker = broker("inbox-bytes=128KiB", "dunlin.inbox.overflow", "reject")) {
      for (int port : new int[] {broker.port(), green(broker)}) {
        try (RawClient durable = RawClient.connected(port, Connect.of("durable"))) {
          durable.subscribe("t", 1);
          durable.disconnect();
        }
      }
      try (RawClient blue = connected(broker.port());
          RawClient green = connected(green(broker))) {
        int taken = 0;
        while (taken < 200 && blue.publishAndWait("t", KIB) == 0) taken++;
        assertThat(taken).isBetween(115, 131);
        for (int i = 0; i < 200; i++) assertThat(green.publishAndWait("t", KIB)).as("another tenant").isZero();
        assertThat(limited(broker, "inbox-bytes")).isEqualTo(1);

        try (RawClient durable = RawClient.connected(broker.port(), Connect.of("durable"))) {
          for (int i = 0; i < taken; i++) assertThat(durable.take().text()).isEqualTo(KIB);
        }
        await().atMost(TestBroker.SOON).until(() -> blue.publishAndWait("t", KIB) == 0);
      }
    }
  }

  @ParameterizedTest(name = "durable sessions: {0}")
  @ValueSource(booleans = {true, false})
  void subscriptionsOfAllSessionsAreBounded(boolean durable) {
    var one = durable ? Connect.of("first").packet() : connecting(5);
    var other = durable ? Connect.of("second").packet() : connecting(5);
    try (TestBroker broker = broker("all-subscriptions=2");
        RawClient first = RawClient.connected(broker.port(), one);
        RawClient second = RawClient.connected(broker.port(), other);
        RawClient green = RawClient.connected(green(broker), one)) {
      first.subscribe("a", 1);
      second.subscribe("a", 1);
      assertThat(subscribing(first, "b", 1)).isEqualTo(FULL);
      assertThat(subscribing(second, "b", 1)).isEqualTo(FULL);
      assertThat(subscribing(first, "a", 0)).as("one that is there").isZero();
      for (String filter : new String[] {"a", "b", "c"}) green.subscribe(filter, 1);
      assertThat(limited(broker, "all-subscriptions")).isEqualTo(2);

      first.disconnect(0);
      await().atMost(TestBroker.SOON).until(() -> subscribing(second, "b", 1) == 1);
    }
  }

  /** A route is for a topic filter and a place: the connected sessions of a node have one together, and those of an inbox shard. */
  @Test
  void routesOfATenantAreBounded() {
    try (TestBroker broker = broker("routes=2");
        RawClient first = connected(broker.port());
        RawClient second = connected(broker.port());
        RawClient durable = RawClient.connected(broker.port(), Connect.of("durable"));
        RawClient green = connected(green(broker))) {
      first.subscribe("a", 1);
      first.subscribe("b", 1);
      assertThat(subscribing(first, "c", 1)).isEqualTo(FULL);
      assertThat(subscribing(durable, "a", 1)).isEqualTo(FULL);
      second.subscribe("a", 1);
      for (String filter : new String[] {"a", "b", "c"}) green.subscribe(filter, 1);
      assertThat(limited(broker, "routes")).isGreaterThanOrEqualTo(2);

      first.disconnect();
      await().atMost(TestBroker.SOON).until(() -> subscribing(second, "c", 1) == 1);
      assertThat(second.publishAndWait("c", "x")).isZero();
      assertThat(second.next(RawClient.PUBLISH).message().text()).isEqualTo("x");
    }
  }
}
