package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.ClusterClients;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** A cluster with a publisher at its first broker, and members of groups that leave. */
final class LastMembers implements AutoCloseable {
  private static final int NODES = 3;

  /** More than are in flight to a member, and fewer than it has room for. */
  static final int MESSAGES = 60;

  static final int IN_FLIGHT = 10;
  private static final String END = "end";

  final EmbeddedCluster cluster;
  private final RawClient publisher;

  LastMembers(Path directory) {
    cluster = EmbeddedCluster.start(directory, NODES, Map.of());
    publisher = cluster.connected(0, Connect.of("publisher").clean().expiry(0));
  }

  @Override
  public void close() {
    publisher.close();
    cluster.close();
  }

  /** A member that takes some messages and acknowledges none by itself. */
  RawClient member(int broker, String name, String filter, int qos) {
    var member = ClusterClients.connected(cluster.brokers().get(broker).tcpPort(), Connect.of(name).clean().expiry(0).receiveMaximum(IN_FLIGHT));
    member.subscribe(filter, qos);
    return member;
  }

  /** All are acknowledged, and the only member acknowledges none. */
  void publish(String topic, int qos) {
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

  /** The texts of what was published, from one on. */
  static List<String> messages(int from) {
    return IntStream.rangeClosed(from, MESSAGES).mapToObj(i -> "message " + i).toList();
  }

  /** What a member gets until all that is published later comes to it. */
  List<String> taken(RawClient member, String topic, int count) {
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

  /** Copies that a broker has dropped and counted. */
  double dropped(int broker) {
    return cluster.registries().get(broker).find("dunlin.messages.dropped").tag("hop", "session").functionCounters().stream().mapToDouble(each -> each.count()).sum();
  }
}
