package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.users.AccessMXBean;
import dunlin.broker.users.BanKind;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.ClusterClients;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.Restarts;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Users, roles, bans and tenants of a cluster: what is changed at one broker counts at all of them. */
class UsersClusterIT {
  private static final int NODES = 3;
  private static final long ANY = -1;
  private static final int QUOTA_EXCEEDED = 0x97;
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path directory;

  private final int[] ports = IntStream.generate(FreePort::any).limit(2 * NODES).toArray();
  private final Map<Integer, Dunlin> brokers = new HashMap<>();
  private final Map<Integer, SimpleMeterRegistry> registries = new HashMap<>();

  @AfterEach
  void stopAll() {
    brokers.values().forEach(Dunlin::close);
    for (int node = 0; node < NODES; node++) Restarts.awaitReleased(data(node));
  }

  private Dunlin start(int node, int founders, boolean users) {
    var registry = new SimpleMeterRegistry();
    registries.put(node, registry);
    return Dunlin.builder()
        .tcpPort(0)
        .dataDirectory(data(node))
        .meterRegistry(registry)
        .set("dunlin.auth.users.enabled", Boolean.toString(users))
        .set("dunlin.tenants.from-user-name", "true")
        .set("dunlin.store.fsync", "false")
        .set("dunlin.admin.port", "-1")
        .set("dunlin.cluster.service-port", Integer.toString(ports[node]))
        .set("dunlin.cluster.port", Integer.toString(ports[NODES + node]))
        .set("dunlin.cluster.seeds", IntStream.range(0, founders).mapToObj(i -> "127.0.0.1:" + ports[i]).collect(Collectors.joining(",")))
        .set("dunlin.cluster.bootstrap-expect", Integer.toString(founders))
        .set("dunlin.cluster.heartbeat", "200ms")
        .set("dunlin.cluster.election-timeout", "1s")
        .build();
  }

  private Path data(int node) {
    return directory.resolve("node-" + node);
  }

  private void startAll(boolean users) {
    try (var starting = Executors.newFixedThreadPool(NODES)) {
      var started = new ArrayList<CompletableFuture<Dunlin>>();
      for (int i = 0; i < NODES; i++) {
        int node = i;
        started.add(CompletableFuture.supplyAsync(() -> start(node, NODES, users), starting));
      }
      for (int i = 0; i < NODES; i++) brokers.put(i, started.get(i).join());
    }
    awaitReplicas();
  }

  private void awaitReplicas() {
    await("all replicas are there")
        .atMost(LONG)
        .until(() -> registries.values().stream().allMatch(each -> gauge(each, "dunlin.cluster.nodes") == NODES && gauge(each, "dunlin.cluster.replicas.missing") == 0));
  }

  private static double gauge(SimpleMeterRegistry of, String name) {
    return of.get(name).gauge().value();
  }

  private Dunlin startAgain(int node, boolean users) {
    return Restarts.again(() -> start(node, NODES, users));
  }

  private void restart(int node, boolean users) {
    stop(node);
    brokers.put(node, startAgain(node, users));
  }

  private void stop(int node) {
    brokers.remove(node).close();
  }

  private Dunlin broker(int node) {
    return brokers.get(node);
  }

  private String name(int node) {
    return broker(node).nodeId().substring(0, 8);
  }

  private AccessMXBean access(int node) {
    return bean(node, "Access", AccessMXBean.class);
  }

  private TenantsMXBean tenants(int node) {
    return bean(node, "Tenants", TenantsMXBean.class);
  }

  private <T> T bean(int node, String type, Class<T> shape) {
    try {
      return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), new ObjectName("dunlin:type=%s,node=%s".formatted(type, name(node))), shape);
    } catch (MalformedObjectNameException e) {
      throw new AssertionError(e);
    }
  }

  /** Makes a change that may be made twice: when a leader is lost, it may be unknown whether it was made. */
  private static long changed(Callable<Long> change) {
    return await().atMost(LONG).ignoreExceptionsInstanceOf(UncheckedIOException.class).until(change, _ -> true);
  }

  /** The same for what is not there any more when it is deleted again. */
  private static void deleted(Callable<Long> deletion) {
    var unknown = new AtomicBoolean();
    changed(
        () -> {
          try {
            return deletion.call();
          } catch (UncheckedIOException e) {
            unknown.set(true);
            throw e;
          } catch (NoSuchElementException e) {
            if (!unknown.get()) throw e;
            return 0L;
          }
        });
  }

  /** The broker that leads the range of users. */
  private int leader() {
    return await().atMost(LONG).until(this::leaders, found -> found.size() == 1).getFirst();
  }

  private List<Integer> leaders() throws JMException {
    var beans = ManagementFactory.getPlatformMBeanServer();
    var leading = new ArrayList<Integer>();
    for (int node : brokers.keySet()) {
      for (var range : beans.queryNames(new ObjectName("dunlin:type=Range,node=" + name(node) + ",*"), null)) {
        if (range.getKeyProperty("range").startsWith("access") && beans.getAttribute(range, "Role").equals("leader")) leading.add(node);
      }
    }
    return leading;
  }

  private static byte[] connecting(String clientId, String user, String password) {
    return RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), clientId, user, password);
  }

  /** The reason code of CONNACK. */
  private int answer(int node, String user, String password) {
    return ClusterClients.answer(broker(node).tcpPort(), connecting(UUID.randomUUID().toString(), user, password));
  }

  private RawClient connected(int node, String clientId, String user) {
    return ClusterClients.connected(broker(node).tcpPort(), connecting(clientId, user, "secret"));
  }

  @Test
  void whatIsChangedAtOneBrokerCountsAtAll() {
    startAll(true);
    changed(() -> access(0).putRole("devices", "allow publish up/%c", ANY));
    changed(() -> access(1).putUser("alice", "secret", "devices", true, ANY));
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(TestBroker.SOON).until(() -> answer(at, "alice", "secret") == 0);
      assertThat(answer(node, "alice", "wrong")).isEqualTo(0x86);
      assertThat(access(node).users("", 10)).extracting(AccessMXBean.UserRow::name).containsExactly("alice");
    }

    try (RawClient alice = connected(2, "pump", "alice")) {
      assertThat(alice.publishAndWait("up/pump", "x")).isNotEqualTo(0x87);
      assertThat(alice.publishAndWait("down/pump", "x")).isEqualTo(0x87);
      changed(() -> access(1).putRole("devices", "allow publish up/%c\nallow publish down/%c", ANY));
      await().atMost(TestBroker.SOON).until(() -> alice.publishAndWait("down/pump", "x") != 0x87);
      changed(() -> access(0).putBan(BanKind.CLIENT, "pump", 600, "loud", ANY));
      alice.expectDisconnect(0x98);
    }
    deleted(() -> access(2).deleteBan(BanKind.CLIENT, "pump", ANY));
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(TestBroker.SOON).until(() -> access(at).bans(BanKind.CLIENT, "", 10).isEmpty());
    }
    try (RawClient first = connected(1, "first", "alice");
        RawClient second = connected(2, "second", "alice")) {
      deleted(() -> access(0).deleteUser("alice", ANY));
      first.expectDisconnect(0x87);
      second.expectDisconnect(0x87);
    }
  }

  @Test
  void aRefusalIsTheSameAtEachBroker() {
    startAll(true);
    long version = changed(() -> access(0).putUser("alice", "secret", "", true, ANY));
    for (int node = 0; node < NODES; node++) {
      var access = access(node);
      await("while another broker may be elected")
          .atMost(LONG)
          .untilAsserted(
              () -> {
                assertThatThrownBy(() -> access.putUser("alice", "x", "", true, 0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("has version " + version);
                assertThatThrownBy(() -> access.putUser("alice", "x", "none", true, ANY)).isInstanceOf(IllegalStateException.class).hasMessageContaining("no role \"none\"");
                assertThatThrownBy(() -> access.deleteRole("none", ANY)).isInstanceOf(NoSuchElementException.class);
              });
      assertThat(answer(node, "alice", "x")).isEqualTo(0x86);
    }
  }

  @Test
  void theLossOfTheLeaderLosesNothing() {
    startAll(true);
    changed(() -> access(0).putUser("alice", "secret", "", true, ANY));
    int lost = leader();
    List<Integer> others = IntStream.range(0, NODES).filter(node -> node != lost).boxed().toList();
    for (int node : others) await().atMost(TestBroker.SOON).until(() -> answer(node, "alice", "secret") == 0);
    stop(lost);

    assertThat(changed(() -> access(others.getFirst()).putUser("bob", "secret", "", true, ANY))).isPositive();
    for (int node : others) {
      await().atMost(LONG).until(() -> answer(node, "bob", "secret") == 0);
      assertThat(answer(node, "alice", "secret")).isZero();
    }
    deleted(() -> access(others.getLast()).deleteUser("alice", ANY));

    brokers.put(lost, startAgain(lost, true));
    await().atMost(LONG).until(() -> answer(lost, "bob", "secret") == 0 && answer(lost, "alice", "secret") == 0x86);
    await().atMost(LONG).until(() -> gauge(registries.get(lost), "dunlin.auth.users.copy.age") < 2);
  }

  /** What is left of a deletion when the leader of the records is lost is done by the next one. */
  @Test
  void aTenantIsSuspendedAndDeletedAtAllBrokersAlsoWhenALeaderIsLost() {
    startAll(true);
    changed(() -> access(0).putRole("all", "allow all #", ANY));
    changed(() -> access(0).putUser("alice@blue", "secret", "all", true, ANY));
    changedTenant(() -> tenants(0).putTenant("blue", "", ANY));
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(LONG).until(() -> tenants(at).tenant("blue").size() == 1 && answer(at, "alice@blue", "secret") == 0);
      await().atMost(LONG).ignoreExceptionsInstanceOf(AssertionError.class).until(() -> retains(at));
    }
    try (RawClient alice = connected(1, "present", "alice@blue")) {
      changedTenant(() -> tenants(2).suspendTenant("blue", ANY));
      alice.expectDisconnect(0x98);
    }
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(LONG).until(() -> answer(at, "alice@blue", "secret") == 0x8A);
    }

    int lost = leader();
    List<Integer> others = IntStream.range(0, NODES).filter(node -> node != lost).boxed().toList();
    changedTenant(() -> tenants(others.getFirst()).deleteTenant("blue", ANY));
    stop(lost);
    for (int node : others) await().atMost(LONG).until(() -> tenants(node).tenant("blue").isEmpty() && access(node).users("", 10).isEmpty());
    await().atMost(LONG).ignoreExceptions().until(() -> ofLeader("Sessions", SessionsMXBean.class).list("blue", "", "", 10).isEmpty());
    await().atMost(LONG).ignoreExceptions().until(() -> ofLeader("RetainedMessages", RetainedMessagesMXBean.class).list("blue", "", "", 10).isEmpty());
  }

  @Test
  void whatATenantMayHaveInTheStoresIsForAllBrokersTogether() throws JMException {
    startAll(true);
    changed(() -> access(0).putRole("all", "allow all #", ANY));
    changed(() -> access(0).putUser("alice@blue", "secret", "all", true, ANY));
    changedTenant(() -> tenants(0).putTenant("blue", "retained=2,inbox-bytes=64KiB,all-subscriptions=1", ANY));
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(LONG).until(() -> tenants(at).tenant("blue").size() == 1 && answer(at, "alice@blue", "secret") == 0);
    }
    for (int node = 0; node < 2; node++) {
      int at = node;
      await().atMost(LONG).ignoreExceptionsInstanceOf(AssertionError.class).until(() -> retains(at));
    }

    try (RawClient first = ClusterClients.connected(broker(0).tcpPort(), durable("session-0"));
        RawClient second = ClusterClients.connected(broker(1).tcpPort(), durable("session-1"))) {
      first.subscribe("a", 1);
      assertThat(subscribing(second, "b")).isEqualTo(QUOTA_EXCEEDED);
    }
    try (RawClient third = connected(2, "third", "alice@blue")) {
      assertThat(third.publishAndWait("kept/2", "x", true)).isEqualTo(QUOTA_EXCEEDED);
      countedAfterASplit(third);
      // The limit on inboxes holds once all brokers have said that they can apply it.
      await().atMost(LONG).until(() -> third.publishAndWait("a", "x".repeat(10_000)) == 0 && dropped("tenant-full") > 0);
      for (int i = 0; i < 10; i++) assertThat(third.publishAndWait("a", "x".repeat(10_000))).isZero();
    }
    assertThat(ofLeader("Sessions", SessionsMXBean.class).list("blue", "session-0", "", 1)).singleElement().satisfies(row -> assertThat(row.bytes()).isBetween(50_000L, 65_536L));
  }

  /** One of the tenant's two retained messages goes to another range. The leader of that one learns of the other within a second or two. */
  private void countedAfterASplit(RawClient client) {
    var cluster = bean(0, "Cluster", ClusterMXBean.class);
    await("the range is split")
        .atMost(LONG)
        .ignoreExceptions()
        .until(
            () -> {
              var ranges = EmbeddedCluster.ranges(cluster, "retain");
              boolean inProgress = !cluster.getOperations().isEmpty();
              if (ranges.size() == 1 && !inProgress) cluster.splitAtTopic(ranges.getFirst().id(), "blue", "kept/1");
              return ranges.size() == 2 && !inProgress;
            });
    for (String further : List.of("kept/0/lower", "kept/2/upper")) awaitRefused(client, further);

    assertThat(client.publishAndWait("kept/0", "", true)).isLessThan(0x80);
    await().atMost(LONG).until(() -> client.publishAndWait("kept/2", "x", true) < 0x80);
    for (String further : List.of("kept/0/lower", "kept/2/upper")) awaitRefused(client, further);
  }

  /** Waits until a topic has no room. */
  private static void awaitRefused(RawClient client, String topic) {
    await()
        .atMost(LONG)
        .until(
            () -> {
              int answer = client.publishAndWait(topic, "x", true);
              if (answer < 0x80) assertThat(client.publishAndWait(topic, "", true)).as("it is removed again").isLessThan(0x80);
              return answer == QUOTA_EXCEEDED;
            });
  }

  private static int subscribing(RawClient client, String filter) {
    client.send(RawClient.SUBSCRIBE, RawClient.u16(100), RawClient.noProperties(), filter, 1);
    return client.next(RawClient.SUBACK).reason();
  }

  /** Messages that inboxes have dropped for a reason. */
  private double dropped(String reason) {
    return registries.values().stream().flatMap(each -> each.find("dunlin.inbox.dropped").tag("reason", reason).counters().stream()).mapToDouble(Counter::count).sum();
  }

  /** A change that is repeated after the loss of its answer may find the version that it has made itself. */
  private static void changedTenant(Callable<Long> change) {
    await().atMost(LONG).ignoreExceptionsMatching(e -> e instanceof UncheckedIOException || e instanceof IllegalStateException).until(change, _ -> true);
  }

  private boolean retains(int node) {
    try (RawClient alice = ClusterClients.connected(broker(node).tcpPort(), durable("session-" + node))) {
      return alice.publishAndWait("kept/" + node, "x", true) < 0x80;
    }
  }

  /** The bean of whichever broker leads. */
  private <T> T ofLeader(String type, Class<T> shape) throws JMException {
    var beans = ManagementFactory.getPlatformMBeanServer();
    for (int node : brokers.keySet()) if (beans.isRegistered(new ObjectName("dunlin:type=%s,node=%s".formatted(type, name(node))))) return bean(node, type, shape);
    throw new NoSuchElementException("no leader of " + type);
  }

  private static byte[] durable(String clientId) {
    return RawClient.connect(5, 0xC0, 0, RawClient.properties(RawClient.sessionExpiry(3_600)), clientId, "alice@blue", "secret");
  }

  /** One broker after the other gets the setting. */
  @Test
  void aClusterThatWasFoundedWithoutUsersGetsThem() {
    startAll(false);
    assertThat(answer(0, "any", "any")).isZero();
    for (int node = 0; node < NODES; node++) {
      restart(node, true);
      int at = node;
      await().atMost(LONG).until(() -> access(at).isComplete());
      assertThat(answer(node, "any", "any")).isEqualTo(0x86);
      changed(() -> access(at).putUser("user-" + at, "secret", "", true, ANY));
    }
    for (int node = 0; node < NODES; node++) {
      int at = node;
      await().atMost(LONG).until(() -> answer(at, "user-0", "secret") == 0 && answer(at, "user-2", "secret") == 0);
    }
  }
}
