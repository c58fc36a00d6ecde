package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.ClusterClients;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the last member of a group at one broker has not acknowledged when it leaves, and the members at others. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LastMembersIT {
  private static final int NODES = 3;

  /** More than are in flight to a member, and fewer than it has room for. */
  private static final int MESSAGES = 60;

  private static final int IN_FLIGHT = 10;
  private static final String END = "end";

  private EmbeddedCluster cluster;
  private RawClient publisher;

  @BeforeAll
  void start(@TempDir Path directory) {
    cluster = EmbeddedCluster.start(directory, NODES, Map.of());
    publisher = cluster.connected(0, Connect.of("publisher").clean().expiry(0));
  }

  @AfterAll
  void stop() {
    publisher.close();
    cluster.close();
  }

  private RawClient member(int broker, String name, String filter, int qos) {
    var member = ClusterClients.connected(cluster.brokers().get(broker).tcpPort(), Connect.of(name).clean().expiry(0).receiveMaximum(IN_FLIGHT));
    member.subscribe(filter, qos);
    return member;
  }

  /** All are acknowledged, and the only member acknowledges none. */
  private void publish(String topic, int qos) {
    for (int i = 1; i <= MESSAGES; i++) {
      if (qos == 1) {
        assertThat(publisher.publishAndWait(topic, "message " + i)).isZero();
        continue;
      }
      publisher.publish(topic, 2, i, "message " + i);
      assertThat(publisher.next(RawClient.PUBREC).reason()).isZero();
      publisher.pubrel(i);
      publisher.next(RawClient.PUBCOMP);
    }
  }

  private static List<String> messages(int from) {
    return IntStream.rangeClosed(from, MESSAGES).mapToObj(i -> "message " + i).toList();
  }

  /** What a member gets until all that is published later comes to it. */
  private List<String> taken(RawClient member, String topic, int count) {
    var all = new ArrayList<String>();
    while (all.size() < count) {
      var publish = member.next(RawClient.PUBLISH);
      assertThat(publish.duplicate()).as("it is new to this session").isFalse();
      all.add(publish.text());
      acknowledge(member, publish);
    }
    assertThat(publisher.publishAndWait(topic, END)).isZero();
    var last = member.next(RawClient.PUBLISH);
    acknowledge(member, last);
    assertThat(last.text()).as("nothing came twice").isEqualTo(END);
    return all;
  }

  private static void acknowledge(RawClient member, RawClient.Packet publish) {
    if (publish.qos() == 1) {
      member.puback(publish.packetId());
      return;
    }
    member.pubrec(publish.packetId());
    int released = member.next(RawClient.PUBREL).packetId();
    member.pubcomp(released);
  }

  private double dropped(int broker) {
    return cluster.registries().get(broker).find("dunlin.messages.dropped").tag("hop", "session").functionCounters().stream().mapToDouble(each -> each.count()).sum();
  }

  @ParameterizedTest
  @CsvSource({"$share/g/, 1, true", "$share/g/, 1, false", "$oshare/g/, 2, true", "$share/g/, 2, false"})
  void goesToTheMemberAtAnotherBroker(String group, int broker, boolean says) {
    String topic = "left/" + group.charAt(1) + broker + says;
    double before = dropped(0);
    var leaving = member(0, "leaving", group + topic, 1);
    publish(topic, 1);
    var staying = member(broker, "staying", group + topic, 1);

    if (says) leaving.disconnect();
    else leaving.reset();

    assertThat(taken(staying, topic, MESSAGES)).containsExactlyElementsOf(messages(1));
    assertThat(dropped(0)).isEqualTo(before);
    staying.disconnect();
  }

  /** What the member may have begun to take stays with it [MQTT-4.8.2-5]. */
  @Test
  void withQos2OnlyWhatTheMemberCannotHaveGoesToAnother() {
    var leaving = member(0, "leaving", "$share/g/exact", 2);
    publish("exact", 2);
    var staying = member(1, "staying", "$share/g/exact", 2);

    leaving.reset();

    assertThat(taken(staying, "exact", MESSAGES - IN_FLIGHT)).containsExactlyElementsOf(messages(IN_FLIGHT + 1));
    staying.disconnect();
  }

  @Test
  void goesToADurableMember() {
    var leaving = member(0, "leaving", "$share/g/kept", 1);
    publish("kept", 1);
    var durable = cluster.connected(1, Connect.of("durable").clean().receiveMaximum(IN_FLIGHT));
    durable.subscribe("$share/g/kept", 1);

    leaving.reset();

    assertThat(taken(durable, "kept", MESSAGES)).containsExactlyElementsOf(messages(1));
    durable.disconnect(0);
  }

  @Test
  void isDroppedAndCountedWhenThereIsNoMemberAnywhere() {
    double before = dropped(0);
    var leaving = member(0, "leaving", "$share/g/none", 1);
    var other = member(1, "other", "$share/h/none", 1);
    other.disconnect();
    publish("none", 1);

    leaving.reset();

    await("it is counted").atMost(TestBroker.SOON).until(() -> dropped(0) == before + MESSAGES);
  }

  /** The broker waits for it before it ends. */
  @Test
  void goesToTheMemberAtAnotherBrokerWhenItsBrokerIsStopped() {
    var leaving = member(2, "leaving", "$share/g/stop", 1);
    publish("stop", 1);
    var staying = member(1, "staying", "$share/g/stop", 1);

    cluster.brokers().get(2).close();

    leaving.close();
    assertThat(taken(staying, "stop", MESSAGES)).containsExactlyElementsOf(messages(1));
    staying.disconnect();
  }
}
