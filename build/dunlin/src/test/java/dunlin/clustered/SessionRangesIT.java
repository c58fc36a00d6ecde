package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import dunlin.Dunlin;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers with three ranges of sessions, each led by any of them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SessionRangesIT {
  private static final int NODES = 3;
  private static final int RANGES = 3;
  private static final int CLIENTS = 24;
  private static final String TENANT = "default";
  private static final Duration LONG = Duration.ofMinutes(2);

  private EmbeddedCluster cluster;
  private ApiCalls api;

  @BeforeAll
  void startAll(@TempDir Path directory) {
    cluster = EmbeddedCluster.start(directory, NODES, Map.of("dunlin.inbox.ranges", Integer.toString(RANGES), "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory.resolve("node-0"));
  }

  @AfterAll
  void stopAll() {
    api.close();
    cluster.close();
  }

  private static <T> T bean(Dunlin broker, String type, Class<T> shape) {
    return EmbeddedCluster.bean("dunlin:type=%s,node=%s".formatted(type, broker.nodeId().substring(0, 8)), shape);
  }

  private SessionsMXBean sessions(int node) {
    return bean(cluster.brokers().get(node), "AllSessions", SessionsMXBean.class);
  }

  private static List<String> names(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> "%s-%02d".formatted(prefix, i)).toList();
  }

  /** Leaves durable sessions behind. */
  private void subscribeAndLeave(List<String> clients, String filter, int options) {
    for (int i = 0; i < clients.size(); i++) {
      try (RawClient client = cluster.connected(i % NODES, Connect.of(clients.get(i)))) {
        client.subscribe(filter, options);
        client.disconnect();
      }
    }
  }

  private void publish(int node, String topic, List<String> payloads) {
    try (RawClient publisher = cluster.connected(node, Connect.of("publisher").clean().expiry(0))) {
      for (String each : payloads) assertThat(publisher.publishAndWait(topic, each)).isZero();
      publisher.disconnect();
    }
  }

  @Test
  void operatorsSeeAndChangeTheSessionsOfAllRanges() {
    List<String> clients = names("seen", CLIENTS);
    subscribeAndLeave(clients, "seen/#", 1);
    publish(0, "seen/1", List.of("a", "b"));
    assertThat(cluster.operations().getRanges()).filteredOn(range -> range.kind().equals("sessions")).hasSize(RANGES);

    for (int node = 0; node < NODES; node++) {
      SessionsMXBean all = sessions(node);
      await("while leaders may still move").atMost(LONG).ignoreExceptions().untilAsserted(
          () -> {
            List<String> paged = new ArrayList<>();
            for (var page = all.list(TENANT, "seen-", "", 5); !page.isEmpty(); page = all.list(TENANT, "seen-", paged.getLast(), 5)) {
              page.forEach(row -> paged.add(row.clientId()));
            }
            assertThat(paged).isEqualTo(clients);
            assertThat(all.getSessions()).isGreaterThanOrEqualTo(CLIENTS);
            assertThat(all.top(SessionFigure.MESSAGES, CLIENTS)).extracting(SessionRow::messages).startsWith(2, 2).isSortedAccordingTo((a, b) -> b - a);
            assertThat(all.subscribers(TENANT, "seen/#", "seen-03", 4)).extracting(SubscriberRow::clientId).containsExactly("seen-04", "seen-05", "seen-06", "seen-07");
            for (String each : clients) {
              assertThat(all.subscriptions(TENANT, each, "", 10)).hasSize(1);
              assertThat(all.messages(TENANT, each, 0, 10).messages()).hasSize(2);
              assertThat(all.outlook(TENANT, each, "seen/2")).singleElement().satisfies(found -> assertThat(found.matching()).hasSize(1));
            }
          });
    }
    assertThat(ledBy()).as("each range has a bean where it is led").hasSize(RANGES);

    await().atMost(LONG).ignoreExceptions().until(() -> sessions(1).deleteOne(TENANT, clients.getFirst()) || sessions(1).outlook(TENANT, clients.getFirst(), "t").isEmpty());
    await().atMost(LONG).ignoreExceptions().until(() -> sessions(2).delete(TENANT, "seen-", 5) >= 0 && sessions(2).list(TENANT, "seen-", "", 100).isEmpty());
  }

  /** The ranges that have beans, over all nodes. */
  private static Set<String> ledBy() {
    Set<String> ranges = new HashSet<>();
    await().atMost(LONG).until(
        () -> {
          var beans = ManagementFactory.getPlatformMBeanServer();
          ranges.clear();
          beans.queryNames(new ObjectName("dunlin:type=Sessions,*"), null).forEach(name -> ranges.add(name.getKeyProperty(SessionsMXBean.RANGE)));
          return ranges.size() == RANGES;
        });
    return ranges;
  }

  @Test
  void sessionsAreExportedAndImportedInAllRanges() {
    List<String> clients = names("moved", CLIENTS);
    subscribeAndLeave(clients, "$share/moved/moved/#", 1);
    publish(1, "moved/1", List.of("a", "b", "c"));
    await().atMost(LONG).ignoreExceptions().until(() -> exported("moved-", 7).stream().filter(line -> line.startsWith("{\"end\"")).count() == CLIENTS);
    List<String> lines = exported("", 500).stream().filter(line -> line.contains("moved")).toList();
    assertThat(lines).filteredOn(line -> line.startsWith("{\"groupMessage\"")).hasSize(3);
    assertThat(lines.subList(lines.size() - 3, lines.size())).as("behind all members").allMatch(line -> line.startsWith("{\"groupMessage\""));
    await().atMost(LONG).ignoreExceptions().until(() -> sessions(2).delete(TENANT, "moved-", 100) >= 0 && sessions(2).list(TENANT, "moved-", "", 100).isEmpty());

    JsonObject body = new JsonObject();
    body.addProperty("lines", Endpoints.SESSIONS_HEADER + "\n" + String.join("\n", lines));
    Answer imported = api.post("/import/sessions", body.toString());

    assertThat(imported.status()).as(imported.text()).isEqualTo(200);
    assertThat(imported.json().get("sessions").getAsInt()).as(imported.text()).isEqualTo(CLIENTS);
    assertThat(imported.json().get("messages").getAsInt()).as(imported.text()).isEqualTo(3);
    await("while leaders may still move").atMost(LONG).ignoreExceptions().untilAsserted(
        () -> assertThat(sessions(0).list(TENANT, "moved-", "", 100)).extracting(SessionRow::clientId).isEqualTo(clients));
    await().atMost(LONG).ignoreExceptions().untilAsserted(
        () -> assertThat(sessions(0).groups(TENANT, "$share/m", 1)).singleElement().satisfies(group -> assertThat(group.members()).isEqualTo(CLIENTS)));
    try (RawClient member = cluster.connected(0, Connect.of(clients.getLast()))) {
      Set<String> received = new HashSet<>();
      while (received.size() < 3) received.add(member.take().text());
      assertThat(received).containsExactlyInAnyOrder("a", "b", "c");
      member.disconnect();
    }
  }

  private List<String> exported(String prefix, int limit) {
    List<String> lines = new ArrayList<>();
    String next = "";
    do {
      Answer page = api.answered("/export/sessions?prefix=" + prefix + "&limit=" + limit + "&cursor=" + next);
      page.json().getAsJsonArray("items").forEach(line -> lines.add(line.toString()));
      next = page.member("next");
    } while (!next.isEmpty());
    return lines;
  }

  @Test
  void whatWaitsForAGroupGoesToAMemberInAnyRange() {
    List<String> members = names("member", 6);
    subscribeAndLeave(members, "$share/work/work/#", 2);
    List<String> payloads = IntStream.range(0, 60).mapToObj(i -> "m" + i).toList();
    try (RawClient publisher = cluster.connected(2, Connect.of("durable-publisher"))) {
      for (int i = 0; i < payloads.size(); i++) {
        publisher.publish("work/" + i, 2, 1 + i, payloads.get(i));
        publisher.next(RawClient.PUBREC);
        publisher.pubrel(1 + i);
        publisher.next(RawClient.PUBCOMP);
      }
      publisher.disconnect();
    }

    List<String> received = new ArrayList<>();
    try (RawClient member = cluster.connected(0, Connect.of(members.getFirst()))) {
      while (received.size() < payloads.size()) {
        var message = member.next(RawClient.PUBLISH);
        received.add(message.text());
        member.pubrec(message.packetId());
        member.next(RawClient.PUBREL);
        member.pubcomp(message.packetId());
      }
      member.ping();
      member.disconnect();
    }
    assertThat(received).containsExactlyInAnyOrderElementsOf(payloads);
  }

  @Test
  void clientsGoOnWhenTheLeadersOfAllRangesMove() {
    List<String> clients = names("staying", 9);
    List<RawClient> connected = new ArrayList<>();
    for (int i = 0; i < clients.size(); i++) {
      connected.add(cluster.connected(i % NODES, Connect.of(clients.get(i))));
      connected.getLast().subscribe("staying/#", 1);
    }

    EmbeddedCluster.moveLeaders(cluster.operations(), "sessions");
    publish(0, "staying/1", List.of("after"));

    for (RawClient each : connected) {
      var message = each.next(RawClient.PUBLISH);
      assertThat(message.text()).isEqualTo("after");
      each.puback(message.packetId());
      each.disconnect(0);
    }
  }
}
