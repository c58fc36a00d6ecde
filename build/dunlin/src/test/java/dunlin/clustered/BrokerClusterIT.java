package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.ClusterClients;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient;
import dunlin.harness.StayingClients;
import dunlin.harness.SteadyClients;
import dunlin.inbox.SessionsMXBean;
import dunlin.model.Publisher;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import dunlin.store.NotLeaderException;
import dunlin.store.raft.RangeMXBean;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers with the same seeds are one: a client may connect to any of them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BrokerClusterIT {
  private static final int NODES = 3;
  private static final int QUEUE = 100;

  private final List<Dunlin> brokers = new ArrayList<>();
  private final List<MeterRegistry> registries = new ArrayList<>();
  private EmbeddedCluster cluster;

  @BeforeAll
  void startAll(@TempDir Path directory) {
    cluster =
        EmbeddedCluster.start(
            directory, NODES,
            Map.of(
                "dunlin.dist.deliver-workers", "2", // also on a machine of few cores
                "dunlin.dist.inline-fanout-threshold", "1",
                "dunlin.dist.audit-interval", "1s",
                "dunlin.session.queue-messages-max", Integer.toString(QUEUE)),
            (broker, node) -> broker.set("dunlin.lanes", Integer.toString(1 + node))); // which may differ
    brokers.addAll(cluster.brokers());
    registries.addAll(cluster.registries());
  }

  /** No route was lost, whichever leaders have moved and however often all were compared. */
  @AfterAll
  void stopAll() {
    try {
      assertThat(registries.stream().flatMap(each -> each.get("dunlin.routes.repaired").counters().stream()).mapToDouble(Counter::count).sum()).as("routes mended").isZero();
    } finally {
      cluster.close();
    }
  }

  private RawClient connected(int broker, Connect connect) {
    return ClusterClients.connected(brokers.get(broker).tcpPort(), connect);
  }

  private static String received(RawClient client) {
    var publish = client.next(RawClient.PUBLISH);
    if (publish.qos() > 0) client.puback(publish.packetId());
    return publish.text();
  }

  /** The next message that is another one than the last: QoS 1 may come twice when a leader is lost. */
  private static String receivedAfter(String last, RawClient client) {
    String next = received(client);
    while (next.equals(last)) next = received(client);
    return next;
  }

  @Test
  void messagesReachSubscribersOfAllBrokers() {
    var subscribers = new ArrayList<RawClient>();
    for (int i = 0; i < NODES; i++) {
      var clean = connected(i, Connect.of("clean-" + i).clean().expiry(0));
      clean.subscribe("t/#", 1);
      subscribers.add(clean);
      var durable = connected(i, Connect.of("durable-" + i).clean());
      durable.subscribe("t/+", 1);
      subscribers.add(durable);
    }
    for (int i = 0; i < NODES; i++) {
      var publisher = connected(i, Connect.of("publisher-" + i).clean().expiry(0));
      assertThat(publisher.publishAndWait("t/" + i, "message " + i)).isZero();
      for (RawClient subscriber : subscribers) assertThat(receivedAfter("message " + (i - 1), subscriber)).isEqualTo("message " + i);
      publisher.disconnect();
    }
    subscribers.forEach(RawClient::disconnect);
  }

  @Test
  void aSessionIsFoundOnAnotherBroker() {
    var first = connected(0, Connect.of("moving").clean());
    first.subscribe("t", 1);
    first.disconnect();
    var publisher = connected(1, Connect.of("publisher").clean().expiry(0));
    for (int i = 0; i < 10; i++) assertThat(publisher.publishAndWait("t", "message " + i)).isZero();
    var second = connected(2, Connect.of("moving"));
    for (int i = 0; i < 10; i++) assertThat(receivedAfter("message " + (i - 1), second)).isEqualTo("message " + i);

    var third = connected(1, Connect.of("moving"));
    assertThat(second.next(RawClient.DISCONNECT).reason()).isEqualTo(0x8E);
    second.awaitClosed();
    assertThat(publisher.publishAndWait("t", "one more")).isZero();
    String last = received(third);
    while (last.startsWith("message")) last = received(third); // its acknowledgement had not arrived
    assertThat(last).isEqualTo("one more");
    third.disconnect();
    publisher.disconnect();
  }

  @Test
  void retainedMessagesAreFoundOnAllBrokers() {
    var publisher = connected(0, Connect.of("retains").clean().expiry(0));
    assertThat(publisher.publishAndWait("kept/1", "one", true)).isLessThan(0x80);
    for (int i = 0; i < NODES; i++) {
      var reader = connected(i, Connect.of("reader-" + i).clean().expiry(0));
      reader.subscribe("kept/#", 1);
      assertThat(received(reader)).isEqualTo("one");
      reader.disconnect();
    }
    publisher.disconnect();
  }

  @Test
  void aSharedSubscriptionHasMembersOnAllBrokers() {
    var members = new ArrayList<RawClient>();
    for (int i = 0; i < NODES; i++) {
      var member = connected(i, Connect.of("member-" + i).clean().expiry(0));
      member.subscribe("$share/group/work", 1);
      members.add(member);
    }
    var publisher = connected(0, Connect.of("work").clean().expiry(0));
    var received = new TreeSet<String>();
    var seen = new TreeSet<Integer>();
    for (int i = 0; i < 300; i++) {
      assertThat(publisher.publishAndWait("work", "job " + i)).isZero();
      int number = i;
      await("job " + i).atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(1)).until(
          () -> {
            for (int member = 0; member < NODES; member++) {
              if (!members.get(member).hasInput()) continue;
              received.add(received(members.get(member)));
              seen.add(member);
            }
            return received.contains("job " + number);
          });
    }
    assertThat(received).hasSize(300);
    assertThat(seen).containsExactly(0, 1, 2);
    members.forEach(RawClient::disconnect);
    publisher.disconnect();
  }

  /** DISCONNECT packets that a broker has read. */
  private double disconnects(int broker) {
    return registries.get(broker).get("dunlin.packets.received").tag("type", "disconnect").functionCounter().count();
  }

  /** It has a publish without an answer, so the session tier has not been told of its DISCONNECT when it connects again. */
  @Test
  void aClientThatDisconnectsAndConnectsAtAnotherBrokerLeavesNoWill() {
    var watcher = connected(2, Connect.of("watcher").clean().expiry(0));
    watcher.subscribe("last/words", 1);
    var full = connected(0, Connect.of("full").clean().expiry(0).receiveMaximum(1));
    full.subscribe("$share/full/held", 1);
    var first = connected(0, Connect.of("leaving").clean().will("last/words", "will", 1, 0));
    for (int i = 0; i <= QUEUE; i++) assertThat(first.publishAndWait("held", "taken")).isZero();
    first.publish("held", 1, 60_000, "waits for the member");
    double before = disconnects(0);
    first.sendDisconnect(3600);
    await("DISCONNECT is read").atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(1)).until(() -> disconnects(0) > before);

    var second = connected(1, Connect.of("leaving"));
    assertThat(second.sessionPresent()).isTrue();
    assertThat(second.publishAndWait("last/words", "alive")).as("it is read once the first connection has settled").isZero();
    assertThat(received(watcher)).isEqualTo("alive");

    var third = connected(2, Connect.of("leaving").will("last/words", "will", 1, 0));
    third.reset();
    assertThat(receivedAfter("alive", watcher)).as("without DISCONNECT").isEqualTo("will");
    List.of(watcher, full).forEach(RawClient::disconnect);
    List.of(first, second).forEach(RawClient::close);
  }

  @Test
  void sessionsAreOperatedAtTheirLeader() {
    var client = connected(1, Connect.of("operated").clean());
    var before = CompletableFuture.supplyAsync(client::awaitClosed);
    await("one broker has the operations, which end the connection")
        .atMost(TestBroker.SOON)
        .ignoreExceptions() // of a leader that has just been replaced
        .until(
            () -> {
              var sessions = queried("dunlin:type=Sessions,*");
              if (sessions.size() == 1) bean(sessions.iterator().next(), SessionsMXBean.class).disconnect(Publisher.DEFAULT_TENANT, "operated");
              return before.isDone();
            });
    assertThat(before.join().getLast().reason()).as("an administrative action").isEqualTo(0x98);
    client.close();
  }

  @Test
  void publishersSeeNothingOfAMoveOfTheLeaderOfTheRoutes() {
    var clients = new SteadyClients();
    for (int i = 0; i < NODES; i++) {
      var clean = connected(i, Connect.of("steady-clean-" + i).clean().expiry(0));
      clean.subscribe("steady/#", 2);
      clients.receives("clean-" + i, 2 * NODES, clean);
    }
    var durable = connected(0, Connect.of("steady-durable").clean());
    durable.subscribe("steady/#", 2);
    clients.receives("durable", 2 * NODES, durable);
    for (int i = 0; i < NODES; i++) {
      for (int qos = 1; qos <= 2; qos++) {
        String name = "steady/" + qos + "-" + i;
        boolean newer = i != 1;
        var publisher =
            newer
                ? connected(i, Connect.of(name).clean())
                : ClusterClients.connected(brokers.get(i).tcpPort(), RawClient.connect(4, false, 0, name, new byte[0]));
        clients.publishes(name, qos, publisher);
      }
    }

    for (int move = 0; move < 2; move++) {
      int before = clients.progress();
      await("publishers go on").atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(5)).until(() -> clients.progress() > before + 5);
      moveLeader("routes");
    }
    clients.check();
    durable.disconnect();
  }

  @Test
  void exactlyOnceHoldsBetweenBrokers() {
    var subscriber = connected(2, Connect.of("exact").clean());
    subscriber.subscribe("exact", 2);
    var publisher = connected(1, Connect.of("exact-publisher").clean());
    for (int i = 1; i <= 20; i++) {
      publisher.publish("exact", "message " + i, 2, i, false, false);
      assertThat(publisher.next(RawClient.PUBREC).reason()).isZero();
      publisher.pubrel(i);
      publisher.next(RawClient.PUBCOMP);
      var publish = subscriber.next(RawClient.PUBLISH);
      assertThat(publish.text()).isEqualTo("message " + i);
      subscriber.pubrec(publish.packetId());
      subscriber.next(RawClient.PUBREL);
      subscriber.pubcomp(publish.packetId());
    }
    subscriber.disconnect();
    publisher.disconnect();
  }

  /**
   * A group's only connected member has no room, so its broker gives most messages to the durable one. Then that member leaves, and another one comes at another broker, before
   * the publisher repeats them: its exchanges wait for another group, so that they are not known to be delivered.
   */
  @Test
  void whatIsRepeatedComesToNoSecondMemberOfAGroup() {
    var absent = connected(0, Connect.of("mixed-durable").clean());
    absent.subscribe("$share/mixed/mixed/both", 1);
    absent.subscribe("mixed-end", 1);
    absent.disconnect();
    var stuck = connected(0, Connect.of("mixed-stuck").clean().expiry(0).receiveMaximum(1));
    stuck.subscribe("$share/stuck/mixed/#", 1);
    var full = connected(0, Connect.of("mixed-full").clean().expiry(0).receiveMaximum(1));
    full.subscribe("$share/mixed/mixed/both", 1);
    var filler = connected(1, Connect.of("mixed-filler").clean().expiry(0));
    for (int i = 0; i < 5; i++) assertThat(filler.publishAndWait("mixed/one", "for one group")).isZero();
    for (int i = 5; i <= QUEUE; i++) assertThat(filler.publishAndWait("mixed/both", "for both groups")).isZero();

    int count = 40;
    byte[] connect = RawClient.connect(4, false, 0, "mixed-publisher", new byte[0]);
    var first = ClusterClients.connected(brokers.get(1).tcpPort(), connect);
    first.send(
        RawClient.bytes(
            IntStream.rangeClosed(1, count).mapToObj(i -> RawClient.publishing(4, "mixed/both", 2, i, "repeated " + i)).toArray()));
    var durable = connected(0, Connect.of("mixed-durable"));
    var came = new ArrayList<String>();
    do came.add(received(durable));
    while (!came.getLast().startsWith("repeated"));
    full.reset();
    var other = connected(2, Connect.of("mixed-other").clean().expiry(0));
    other.subscribe("$share/mixed/mixed/both", 1);
    other.subscribe("mixed-end", 1);

    var second = ClusterClients.connected(brokers.get(2).tcpPort(), connect);
    for (int i = 1; i <= count; i++) second.publish("mixed/both", "repeated " + i, 2, i, true);
    for (int i = 1; i <= count; i++) second.next(RawClient.PUBREC);
    second.publish("mixed-end", 1, count + 1, "end");
    second.next(RawClient.PUBACK);

    var left = other.before("end").stream().map(RawClient.Message::text).filter(each -> each.startsWith("repeated")).toList();
    var room = IntStream.rangeClosed(1, 5).mapToObj(i -> "repeated " + i).toList();
    assertThat(left).as("no more than what the member that has left had room for, and was not sent yet: it is dealt again").isSubsetOf(room);
    came.addAll(left);
    for (String next = received(durable); !next.equals("end"); next = received(durable)) came.add(next);
    assertThat(came).filteredOn(each -> each.startsWith("repeated")).doesNotHaveDuplicates();
    List.of(durable, other, filler, second).forEach(RawClient::disconnect);
    List.of(first, stuck).forEach(RawClient::close);
  }

  private static <T> T bean(ObjectName name, Class<T> type) {
    return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), name, type);
  }

  private static RangeMXBean replica(ObjectName name) {
    return bean(name, RangeMXBean.class);
  }

  /** The beans of all replicas of the range of a kind. */
  private static Set<ObjectName> replicas(String kind) throws JMException {
    return ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("dunlin:type=Range,range=" + kind + "*,*"), null);
  }

  private static Optional<ObjectName> leader(String kind) throws JMException {
    for (var each : replicas(kind)) if (replica(each).getRole().equals("leader")) return Optional.of(each);
    return Optional.empty();
  }

  /** Has another broker lead the range of a kind, and waits for it. */
  private static void moveLeader(String kind) {
    var from = await("a leader of " + kind).atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(20)).until(() -> handOver(kind), Optional::isPresent);
    await("another leader of " + kind)
        .atMost(TestBroker.SOON)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> leader(kind).filter(each -> !each.equals(from.orElseThrow())).isPresent());
  }

  /** The leader that has handed over to another broker; empty when there is none, placement has just moved it, or the other cannot lead now. */
  private static Optional<ObjectName> handOver(String kind) throws JMException {
    var leader = leader(kind);
    if (leader.isEmpty()) return leader;
    var next = replicas(kind).stream().filter(each -> !each.equals(leader.get())).findFirst().orElseThrow();
    var node = new ObjectName("dunlin:type=Cluster,node=" + next.getKeyProperty("node"));
    try {
      replica(leader.get()).transferLeadership(bean(node, ClusterMXBean.class).getNode());
      return leader;
    } catch (NotLeaderException | IllegalStateException _) { // the latter when the other broker is not ready to lead
      return Optional.empty();
    }
  }

  @Test
  void clientsStayConnectedWhenTheLeaderOfTheSessionsMoves() {
    try (var clients = new StayingClients("moves", brokers.get(0).tcpPort(), brokers.get(1).tcpPort())) {
      for (int move = 0; move < 3; move++) {
        for (int i = 0; i < 10; i++) clients.publish();
        var moved = CompletableFuture.runAsync(() -> moveLeader("sessions"));
        do clients.publish();
        while (!moved.isDone());
        moved.join();
        for (int i = 0; i < 10; i++) clients.publish();
        clients.check();
      }
    }
  }

  @Test
  void retainedMessagesStayWhileTheirRangesAreSplitAndMoved() {
    var random = new Random(7);
    var placement = cluster.operations();
    var publishers = new ArrayList<RawClient>();
    for (int i = 0; i < NODES; i++) publishers.add(connected(i, Connect.of("splits-" + i).clean().expiry(0)));
    var kept = new TreeMap<String, String>();
    int number = 0;
    publishers.getFirst().publishAndWait("end-of-splits", "end", true);
    for (String cut : List.of("split/m", "split/t", "split/f")) {
      var splitting = CompletableFuture.runAsync(() -> EmbeddedCluster.split(placement, "retain", cut.replace('/', '\0')));
      do {
        // Each client has some of the topics, and several messages on their way, so that a topic's last message is the one that it published last.
        for (RawClient publisher : publishers) {
          int first = number % 50_000 + 1;
          for (int i = 0; i < 10; i++) {
            int letter = random.nextInt(8) * NODES + publishers.indexOf(publisher);
            String topic = "split/" + (char) ('a' + letter);
            publisher.publish(topic, "message " + ++number, 1, first + i, false, true);
            kept.put(topic, "message " + number);
          }
        }
        for (RawClient publisher : publishers) {
          for (int i = 0; i < 10; i++) assertThat(publisher.next(RawClient.PUBACK).reason()).isLessThan(0x80);
        }
      } while (!splitting.isDone());
      splitting.join();
    }
    assertThat(EmbeddedCluster.ranges(placement, "retain")).hasSize(4);
    assertThat(retained("split/#")).isEqualTo(List.of(kept, kept, kept));

    EmbeddedCluster.moveLeaders(placement, "retain");
    assertThat(publishers.get(1).publishAndWait("split/b", "moved", true)).isLessThan(0x80);
    kept.put("split/b", "moved");
    assertThat(retained("split/#")).isEqualTo(List.of(kept, kept, kept));
    assertThat(retained("+/f")).isEqualTo(Collections.nCopies(NODES, new TreeMap<>(Map.of("split/f", kept.get("split/f")))));
    publishers.forEach(RawClient::disconnect);

    var operations = retainedOperations();
    assertThat(operations.list(Publisher.DEFAULT_TENANT, "split/", "", 1_000)).extracting(RetainedRow::topic).containsExactlyElementsOf(kept.keySet());
    assertThat(operations.delete(Publisher.DEFAULT_TENANT, "split/", 1_000)).isEqualTo(kept.size());
    assertThat(retained("split/#")).isEqualTo(Collections.nCopies(NODES, new TreeMap<>()));
  }

  /** The retained messages that a new subscriber of each broker gets. */
  private List<Map<String, String>> retained(String filter) {
    return IntStream.range(0, NODES)
        .<Map<String, String>>mapToObj(
            broker -> {
              var found = new TreeMap<String, String>();
              var subscriber = connected(broker, Connect.of("finds-" + broker).clean().expiry(0));
              subscriber.subscribe(filter, 0);
              subscriber.subscribe("end-of-splits", 0);
              for (var message = subscriber.message(); !message.topic().equals("end-of-splits"); message = subscriber.message()) {
                assertThat(found.put(message.topic(), message.text())).as("%s came twice", message.topic()).isNull();
              }
              subscriber.disconnect();
              return found;
            })
        .toList();
  }

  /** Those of the broker that answers for all ranges. */
  private static RetainedMessagesMXBean retainedOperations() {
    var beans = await("one broker has the operations").atMost(TestBroker.SOON).until(() -> queried("dunlin:type=RetainedMessages,*"), names -> names.size() == 1);
    return bean(beans.iterator().next(), RetainedMessagesMXBean.class);
  }

  private static Set<ObjectName> queried(String pattern) throws JMException {
    return ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName(pattern), null);
  }
}
