package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The broker's statistics under {@code $SYS/broker/}. */
class SysTopicsIT {
  private static final String OFTEN = "100ms";
  private static final String ONCE = "1h";

  @TempDir Path data;

  private TestBroker broker(String interval) {
    return TestBroker.on(data, Map.of("dunlin.sys.interval", interval, "dunlin.store.fsync", "false"));
  }

  /** The names that mosquitto uses, which dashboards know. */
  private static Set<String> names() {
    Set<String> names = new TreeSet<>(
        List.of(
            "version", "uptime", "clients/total", "clients/maximum", "clients/connected", "clients/disconnected", "clients/active",
            "clients/inactive", "clients/expired", "connections/socket/count", "subscriptions/count", "shared_subscriptions/count",
            "bytes/received", "bytes/sent", "messages/received", "messages/sent", "messages/stored", "publish/messages/received",
            "publish/messages/sent", "publish/messages/dropped", "retained messages/count", "store/messages/count",
            "store/messages/bytes", "heap/current", "heap/maximum"));
    for (String load :
        List.of(
            "sockets", "connections", "bytes/received", "bytes/sent", "messages/received", "messages/sent", "publish/received",
            "publish/sent", "publish/dropped")) {
      for (String minutes : List.of("1min", "5min", "15min")) names.add("load/" + load + "/" + minutes);
    }
    for (String both : List.of("publish", "puback", "pubrec", "pubrel", "pubcomp", "disconnect", "auth")) {
      names.add("mqtt/" + both + "/received");
      names.add("mqtt/" + both + "/sent");
    }
    for (String in : List.of("connect", "subscribe", "unsubscribe", "pingreq")) names.add("mqtt/" + in + "/received");
    for (String out : List.of("connack", "suback", "unsuback", "pingresp")) names.add("mqtt/" + out + "/sent");
    return new TreeSet<>(names.stream().map(name -> "$SYS/broker/" + name).toList());
  }

  @Test
  void aNewSubscriberGetsTheCurrentStatisticsAtOnce() {
    try (TestBroker broker = broker(ONCE);
        Hive subscriber = Hive.connected(broker, false).subscribe("$SYS/#", 2)) {
      Map<String, String> figures = new HashMap<>();
      for (int i = 0; i < names().size(); i++) {
        Mqtt5Publish message = subscriber.next();
        assertThat(message.isRetain()).isTrue();
        assertThat(message.getQos()).isEqualTo(MqttQos.AT_MOST_ONCE);
        figures.put(message.getTopic().toString(), Hive.text(message));
      }

      assertThat(new TreeSet<>(figures.keySet())).isEqualTo(names());
      assertThat(figures.get("$SYS/broker/version")).startsWith("dunlin version ");
      assertThat(figures.get("$SYS/broker/uptime")).matches("[0-9]+ seconds");
      assertThat(figures.get("$SYS/broker/load/messages/received/1min")).isEqualTo("0.00");
      assertThat(Long.parseLong(figures.get("$SYS/broker/heap/current"))).isPositive();
    }
  }

  @Test
  void statisticsFollowTheClientsActions() {
    try (TestBroker broker = broker(OFTEN);
        Hive subscriber = Hive.connected(broker, false).subscribe("$SYS/#", 0)) {
      String clientId = UUID.randomUUID().toString();
      try (Hive durable = Hive.connected(broker, clientId, with -> with.sessionExpiryInterval(3_600))) {
        durable.subscribe("stored", 1).subscribe("$share/group/elsewhere", 1);
      }
      subscriber.publish("stored", 1, "x".repeat(100), true).join();
      subscriber.publish("stored", 1, "y".repeat(100), false).join();

      Map<String, String> figures = new HashMap<>();
      await("the figures")
          .atMost(TestBroker.SOON)
          .untilAsserted(
              () -> {
                for (Mqtt5Publish next = subscriber.arrived().poll(); next != null; next = subscriber.arrived().poll()) {
                  figures.put(next.getTopic().toString().substring("$SYS/broker/".length()), Hive.text(next));
                }
                assertThat(figures)
                    .containsEntry("clients/total", "2")
                    .containsEntry("clients/connected", "1")
                    .containsEntry("clients/disconnected", "1")
                    .containsEntry("clients/maximum", "2")
                    .containsEntry("connections/socket/count", "1")
                    .containsEntry("subscriptions/count", "3")
                    .containsEntry("shared_subscriptions/count", "1")
                    .containsEntry("retained messages/count", "1")
                    .containsEntry("store/messages/count", "2")
                    .containsEntry("messages/stored", "2")
                    .containsEntry("publish/messages/received", "2")
                    .containsEntry("mqtt/publish/received", "2")
                    .containsEntry("mqtt/puback/sent", "2")
                    .containsEntry("mqtt/connect/received", "2")
                    .containsEntry("mqtt/connack/sent", "2")
                    .containsEntry("mqtt/subscribe/received", "3")
                    .containsEntry("mqtt/suback/sent", "3")
                    .containsEntry("mqtt/disconnect/received", "1");
                assertThat(number(figures, "store/messages/bytes")).isBetween(200.0, 1_000.0);
                assertThat(number(figures, "bytes/received")).isBetween(300.0, 1_000.0);
                assertThat(number(figures, "bytes/sent")).isGreaterThan(3_000);
                assertThat(number(figures, "messages/received")).isGreaterThanOrEqualTo(8);
                assertThat(number(figures, "messages/sent")).isGreaterThan(names().size());
                assertThat(number(figures, "load/connections/1min")).isPositive();
                assertThat(number(figures, "load/publish/received/15min")).isPositive();
                assertThat(number(figures, "heap/maximum")).isGreaterThanOrEqualTo(number(figures, "heap/current"));
              });
    }
  }

  private static double number(Map<String, String> figures, String name) {
    return Double.parseDouble(figures.getOrDefault(name, "-1"));
  }

  @Test
  @Tag("MQTT-4.7.2-1")
  @Tag("MQTT3-4.7.2-1")
  @Tag("pitfall-60")
  void wildcardsAtTheBeginningDoNotMatchThem() {
    try (TestBroker broker = broker(OFTEN);
        Hive everything = Hive.connected(broker, false).subscribe("#", 2).subscribe("+/broker/uptime", 2);
        Hive asking = Hive.connected(broker, false).subscribe("$SYS/+/uptime", 2)) {
      asking.next();
      assertThat(asking.next().isRetain()).as("a live one").isFalse();

      everything.publish("fence", 1, "fence").join();

      assertThat(everything.before("fence")).isEmpty();
    }
  }

  @Test
  void noneWaitsForAnAbsentSession() {
    try (TestBroker broker = broker(OFTEN);
        Hive asking = Hive.connected(broker, false)) {
      String clientId = UUID.randomUUID().toString();
      try (Hive durable = Hive.connected(broker, clientId, with -> with.sessionExpiryInterval(3_600))) {
        durable.subscribe("$SYS/broker/uptime", 2);
        assertThat(durable.next().isRetain()).isTrue();
        assertThat(durable.next().isRetain()).isFalse();
      }
      asking.subscribe("$SYS/broker/uptime", 0);
      List<String> meanwhile = new ArrayList<>();
      for (int i = 0; i < 3; i++) meanwhile.add(Hive.text(asking.next()));

      try (Hive again = Hive.connected(broker, clientId, with -> with.cleanStart(false).sessionExpiryInterval(3_600))) {
        assertThat(meanwhile).doesNotContain(Hive.text(again.next()));
      }
      asking.subscribe("$SYS/broker/store/messages/count", 0);
      await().atMost(TestBroker.SOON).until(() -> "0".equals(Hive.text(asking.next())));
    }
  }

  @Test
  void zeroSwitchesThemOff() {
    try (TestBroker broker = broker("0s");
        Hive asking = Hive.connected(broker, false).subscribe("$SYS/#", 2)) {
      asking.subscribe("fence", 1).publish("fence", 1, "fence").join();

      assertThat(asking.before("fence")).isEmpty();
    }
  }
}
