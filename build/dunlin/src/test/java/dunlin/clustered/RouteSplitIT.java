package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SteadyClients;
import io.micrometer.core.instrument.Gauge;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers whose range of routes is split while clients publish and subscribe, and whose parts are led by different brokers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(OrderAnnotation.class)
class RouteSplitIT {
  private static final int NODES = 3;
  private static final String ROUTES = "routes";

  private EmbeddedCluster cluster;

  @BeforeAll
  void start(@TempDir Path directory) {
    cluster = EmbeddedCluster.start(directory, NODES, Map.of("dunlin.dist.deliver-workers", "2", "dunlin.dist.inline-fanout-threshold", "1"));
  }

  @AfterAll
  void stop() {
    cluster.close();
  }

  /** The filters of each subscriber are in several ranges in the end. */
  @Test
  @Order(1)
  void publishersAndSubscribersSeeNothingOfSplits() {
    var clients = new SteadyClients();
    var topics = new ArrayList<String>();
    for (int i = 0; i < NODES; i++) for (int qos = 1; qos <= 2; qos++) topics.add("steady/" + qos + "-" + i);
    for (int i = 0; i < NODES; i++) {
      var clean = cluster.connected(i, Connect.of("clean-" + i).clean().expiry(0));
      for (String topic : topics) clean.subscribe(topic, 2);
      clients.receives("clean-" + i, topics.size(), clean);
      var durable = cluster.connected(i, Connect.of("durable-" + i).clean());
      durable.subscribe("steady/#", 2);
      for (String topic : topics.subList(i, 2 * i)) durable.subscribe(topic, 1);
      clients.receives("durable-" + i, topics.size(), durable);
    }
    for (String topic : topics) {
      int qos = topic.charAt("steady/".length()) - '0';
      clients.publishes(topic, qos, cluster.connected(topics.indexOf(topic) / 2, Connect.of(topic).clean()));
    }

    for (String cut : List.of("steady/1-1", "steady/2-0", "steady/1-2")) {
      clients.goOn();
      EmbeddedCluster.split(cluster.operations(), ROUTES, cut);
      clients.goOn();
      EmbeddedCluster.moveLeaders(cluster.operations(), ROUTES);
    }
    clients.goOn();
    clients.check();
    assertThat(EmbeddedCluster.ranges(cluster.operations(), ROUTES)).hasSize(4);
  }

  @Test
  @Order(2)
  void aClientWithOverlappingFiltersInTwoRangesGetsOneCopy() {
    EmbeddedCluster.split(cluster.operations(), ROUTES, "overlap/x");
    for (boolean durable : List.of(false, true)) {
      var subscriber = cluster.connected(1, Connect.of("overlaps-" + durable).clean().expiry(durable ? 600 : 0));
      subscriber.subscribe("overlap/#", 0, RawClient.subscriptionIdentifier(7));
      subscriber.subscribe("overlap/+", 2, RawClient.subscriptionIdentifier(8));
      subscriber.subscribe("overlap/x", 1, RawClient.subscriptionIdentifier(9));
      var publisher = cluster.connected(2, Connect.of("publisher").clean().expiry(0));
      for (int i = 1; i <= 10; i++) {
        publisher.publish("overlap/x", "message " + i, 2, i, false);
        assertThat(publisher.next(RawClient.PUBREC).reason()).isZero();
        publisher.pubrel(i);
        publisher.next(RawClient.PUBCOMP);

        var message = subscriber.message();

        assertThat(message.text()).as("one copy").isEqualTo("message " + i);
        assertThat(message.qos()).isEqualTo(2);
        assertThat(message.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactlyInAnyOrder(7L, 8L, 9L);
      }
      subscriber.disconnect();
      publisher.disconnect();
    }
  }

  /** [D2] in docs/DELIVERY.md. */
  @Test
  @Order(3)
  void aSubscriptionInAnyRangeIsFoundByTheNextMessage() {
    var subscriber = cluster.connected(0, Connect.of("subscriber").clean().expiry(0));
    var publisher = cluster.connected(2, Connect.of("publisher").clean().expiry(0));
    for (int i = 0; i < 100; i++) {
      String topic = (i % 2 == 0 ? "early/" : "steady/2-9/") + i;
      subscriber.subscribe(i % 3 == 0 ? topic : topic + "/#", 1);

      assertThat(publisher.publishAndWait(topic, "message " + i)).as("with a subscriber").isZero();

      var message = subscriber.next(RawClient.PUBLISH);
      assertThat(message.text()).isEqualTo("message " + i);
      subscriber.puback(message.packetId());
    }
    subscriber.disconnect();
    publisher.disconnect();
  }

  @Test
  @Order(4)
  void operatorsSeeTheRoutesOfAllRanges() {
    var subscriber = cluster.connected(0, Connect.of("operated").clean());
    subscriber.subscribe("a/seen", 1);
    subscriber.subscribe("+/seen", 1);
    subscriber.subscribe("steady/seen", 1);
    subscriber.subscribe("#", 1);

    var routes = EmbeddedCluster.bean("dunlin:type=Routes,*", RoutesMXBean.class);
    var found = routes.match("default", "steady/seen", "", 100);
    assertThat(found).extracting(RouteRow::filter).contains("steady/seen", "+/seen", "#").isSorted();
    assertThat(found).doesNotHaveDuplicates();
    assertThat(routes.match("default", "steady/seen", "", 2)).hasSize(2);
    await().atMost(TestBroker.SOON).until(() -> routes.getRoutes() >= 4);
    await("nothing waits").atMost(TestBroker.SOON).untilAsserted(() -> assertThat(waiting()).isNotEmpty().containsOnly(0.0));
    subscriber.disconnect();
  }

  /** The messages that wait for other ranges at the leader of the first one. */
  private List<Double> waiting() {
    return cluster.registries().stream().flatMap(registry -> registry.find("dunlin.dist.matches.waiting").gauges().stream()).map(Gauge::value).toList();
  }
}
