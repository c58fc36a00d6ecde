package dunlin.connecting;

import static dunlin.harness.RawClient.CONNACK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.tenant.TenantsMXBean.TenantRow;
import dunlin.broker.users.AccessMXBean;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tenants that operators create, limit, suspend and delete while the broker runs. */
class TenantsIT {
  private static final long ANY = -1;
  private static final Map<String, String> SETTINGS = Map.of("dunlin.auth.users.enabled", "true", "dunlin.store.fsync", "false", "dunlin.admin.port", "-1");

  @TempDir Path directory;

  /** A broker on which alice@blue, bob@green and carol may do everything; each has her or his name as the password. */
  private TestBroker broker(String... settings) {
    var all = new HashMap<>(SETTINGS);
    all.put("dunlin.tenants.from-user-name", "true");
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    TestBroker broker = TestBroker.on(directory.resolve("data"), all);
    AccessMXBean access = broker.bean("Access", AccessMXBean.class);
    access.putRole("all", "allow all #", ANY);
    for (String user : List.of("alice@blue", "bob@green", "carol")) access.putUser(user, user, "all", true, ANY);
    return broker;
  }

  private static TenantsMXBean tenants(TestBroker broker) {
    return broker.bean("Tenants", TenantsMXBean.class);
  }

  private static byte[] connecting(int level, String clientId, String user, boolean clean, long expirySeconds) {
    byte[] properties = level < 5 || expirySeconds == 0 ? RawClient.noProperties() : RawClient.properties(RawClient.sessionExpiry(expirySeconds));
    return RawClient.connect(level, clean ? 0xC2 : 0xC0, 0, properties, clientId, user, user);
  }

  private static RawClient connected(TestBroker broker, String clientId, String user) {
    return RawClient.connected(broker.port(), connecting(5, clientId, user, true, 0));
  }

  private static RawClient durable(TestBroker broker, String clientId, String user) {
    return RawClient.connected(broker.port(), connecting(5, clientId, user, false, 3_600));
  }

  private static int answer(TestBroker broker, int level, String user) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(connecting(level, UUID.randomUUID().toString(), user, true, 0));
      return client.expect(CONNACK).at(1);
    }
  }

  private static int answer(TestBroker broker, String user) {
    return answer(broker, 5, user);
  }

  @Test
  void aUserNameSaysTheTenant() {
    try (TestBroker broker = broker();
        RawClient alice = connected(broker, "c", "alice@blue");
        RawClient bob = connected(broker, "c", "bob@green");
        RawClient carol = connected(broker, "c", "carol")) {
      for (RawClient each : List.of(alice, bob, carol)) each.subscribe("#", 0);
      alice.publish("t", 0, 0, "of alice");
      assertThat(alice.message().text()).isEqualTo("of alice");
      bob.ping();
      carol.ping();
      AccessMXBean access = broker.bean("Access", AccessMXBean.class);
      access.putUser("dora@no/tenant", "dora@no/tenant", "all", true, ANY);
      assertThat(answer(broker, "dora@no/tenant")).isEqualTo(0x87);
    }
  }

  @Test
  void limitsOfARecordCountAtOnce() {
    try (TestBroker broker = broker("dunlin.tenants.limits", "connections=5")) {
      TenantsMXBean tenants = tenants(broker);
      long version = tenants.putTenant("blue", "connections=1", 0);
      try (RawClient _ = connected(broker, "a", "alice@blue")) {
        assertThat(answer(broker, "alice@blue")).isEqualTo(0x97);
        assertThat(answer(broker, "bob@green")).isZero();
        assertThat(tenants.tenant("blue")).containsExactly(new TenantRow("blue", "active", "connections=1", 1, "connections=1", version));
        tenants.putTenant("blue", "connections=none, qos=1", version);
        assertThat(answer(broker, "alice@blue")).isZero();
        assertThat(tenants.tenant("blue")).singleElement().satisfies(row -> assertThat(row.limits()).isEqualTo("connections=none,qos=1"));
      }
    }
  }

  @Test
  void aSuspendedTenantIsDisconnectedAndRefusedUntilItIsResumed() {
    try (TestBroker broker = broker()) {
      TenantsMXBean tenants = tenants(broker);
      tenants.putTenant("blue", "", 0);
      try (RawClient alice = durable(broker, "a", "alice@blue");
          RawClient bob = connected(broker, "b", "bob@green")) {
        alice.subscribe("t", 1);
        long version = tenants.suspendTenant("blue", ANY);
        alice.expectDisconnect(0x98);
        assertThat(answer(broker, "alice@blue")).isEqualTo(0x8A);
        assertThat(answer(broker, 4, "alice@blue")).isEqualTo(5);
        bob.ping();
        assertThat(tenants.tenant("blue")).singleElement().satisfies(row -> assertThat(row.state()).isEqualTo("suspended"));
        tenants.putTenant("blue", "connections=3", version);
        assertThat(answer(broker, "alice@blue")).as("a change of its limits does not resume it").isEqualTo(0x8A);

        tenants.resumeTenant("blue", ANY);
        try (RawClient back = new RawClient(broker.port())) {
          assertThat(back.connect(connecting(5, "a", "alice@blue", false, 3_600)).sessionPresent()).as("what it has stays").isTrue();
        }
      }
    }
  }

  @Test
  void aDeletedTenantLosesItsSessionsMessagesAndUsersAndNoOtherDoes() {
    try (var lines = LoggedLines.ofAudit();
        TestBroker broker = broker()) {
      TenantsMXBean tenants = tenants(broker);
      AccessMXBean access = broker.bean("Access", AccessMXBean.class);
      tenants.putTenant("blue", "", 0);
      tenants.putTenant("green", "", 0);
      for (String user : List.of("alice@blue", "bob@green")) {
        try (RawClient client = durable(broker, "absent", user)) {
          client.subscribe("t", 1);
        }
        try (RawClient client = connected(broker, "publisher", user)) {
          for (int i = 0; i < 5; i++) assertThat(client.publishAndWait("kept/" + i, "x", true)).isLessThan(0x80);
          client.publishAndWait("t", "waits");
        }
      }
      try (RawClient alice = durable(broker, "present", "alice@blue");
          RawClient willing = RawClient.connected(broker.port(), willing("alice@blue"))) {
        tenants.deleteTenant("blue", ANY);
        alice.expectDisconnect(0x98);
        willing.expectDisconnect(0x98);
      }
      assertThatThrownBy(() -> tenants.resumeTenant("blue", ANY)).isInstanceOfAny(IllegalStateException.class, NoSuchElementException.class);
      await().atMost(TestBroker.SOON).until(() -> tenants.tenant("blue").isEmpty());

      SessionsMXBean sessions = broker.bean("Sessions", SessionsMXBean.class);
      RetainedMessagesMXBean retained = broker.bean("RetainedMessages", RetainedMessagesMXBean.class);
      assertThat(sessions.list("blue", "", "", 10)).isEmpty();
      assertThat(retained.list("blue", "", "", 10)).as("also that of the will").isEmpty();
      assertThat(access.users("", 10)).extracting(AccessMXBean.UserRow::name).containsExactly("bob@green", "carol");
      assertThat(sessions.list("green", "", "", 10)).extracting(SessionsMXBean.SessionRow::messages).containsExactly(1);
      assertThat(retained.list("green", "", "", 10)).hasSize(5);
      assertThat(tenants.tenants("", 10)).extracting(TenantRow::name).containsExactly("green");
      assertThat(answer(broker, "alice@blue")).isEqualTo(0x86);
      assertThat(lines.of("access-changed")).filteredOn(line -> line.contains("kind=tenant")).hasSizeGreaterThanOrEqualTo(4);
    }
  }

  /** Connects, subscribes and publishes again and again, whatever becomes of it, until it is over. */
  private static void presses(TestBroker broker, String clientId, String user, AtomicBoolean over, AtomicInteger accepted) {
    for (int i = 0; !over.get(); i++) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(connecting(5, clientId, user, false, 3_600));
        if (client.expect(CONNACK).at(1) != 0) continue;
        client.subscribe("t/#", 2);
        client.subscribe("$share/g/kept/#", 1);
        while (!over.get()) {
          if (client.publishAndWait("kept/" + i++ % 200, clientId, true) < 0x80) accepted.incrementAndGet();
          client.publish("t/" + clientId, 0, 0, "x");
          if (i % 20 == 0) client.untilPong();
        }
      } catch (AssertionError | UncheckedIOException expected) {
        // It is disconnected, or refused, while the tenant is being deleted.
      }
    }
  }

  /** Publishes and receives in turns until it is over; answers how many messages its absent session has to have. */
  private static int goesOn(RawClient client, AtomicBoolean over) {
    int kept = 0;
    for (int i = 0; !over.get(); i++) {
      assertThat(client.publishAndWait("t/" + i % 7, "message " + i)).isZero();
      assertThat(client.take().text()).isEqualTo("message " + i);
      if (i % 10 == 0 && kept < 500) assertThat(client.publishAndWait("kept/" + kept++ % 10, "x", true)).isLessThan(0x80);
    }
    return kept;
  }

  @Test
  void aTenantThatIsDeletedUnderLoadLeavesNothingAndOthersLoseNothing() throws Exception {
    try (TestBroker broker = broker("dunlin.auth.failures-max", "0", "dunlin.flapping.connects-max", "0");
        RawClient bob = durable(broker, "present", "bob@green");
        var load = Executors.newVirtualThreadPerTaskExecutor()) {
      TenantsMXBean tenants = tenants(broker);
      for (String tenant : List.of("blue", "green")) tenants.putTenant(tenant, "", 0);
      for (String user : List.of("alice@blue", "bob@green")) durable(broker, "absent", user).disconnectAfter(client -> client.subscribe("kept/#", 1));
      bob.subscribe("t/#", 1);
      var over = new AtomicBoolean();
      var accepted = new AtomicInteger();
      var pressing = IntStream.range(0, 3).mapToObj(i -> load.submit(() -> presses(broker, "pressing-" + i, "alice@blue", over, accepted))).toList();
      var going = load.submit(() -> goesOn(bob, over));
      try {
        await().atMost(TestBroker.SOON).until(() -> accepted.get() >= 300);
        tenants.deleteTenant("blue", ANY);
        await().atMost(TestBroker.SOON).until(() -> tenants.tenant("blue").isEmpty());
      } finally {
        over.set(true);
      }
      for (var each : pressing) each.get(1, TimeUnit.MINUTES);
      int kept = going.get(1, TimeUnit.MINUTES);

      SessionsMXBean sessions = broker.bean("Sessions", SessionsMXBean.class);
      RetainedMessagesMXBean retained = broker.bean("RetainedMessages", RetainedMessagesMXBean.class);
      assertThat(sessions.list("blue", "", "", 10)).isEmpty();
      assertThat(retained.list("blue", "", "", 10)).isEmpty();
      await()
          .atMost(TestBroker.SOON)
          .untilAsserted(
              () ->
                  assertThat(sessions.list("green", "", "", 10))
                      .extracting(SessionsMXBean.SessionRow::clientId, SessionsMXBean.SessionRow::messages)
                      .containsExactlyInAnyOrder(tuple("absent", kept), tuple("present", 0)));
      assertThat(retained.list("green", "", "", 100)).hasSize(Math.min(kept, 10));

      broker.bean("Access", AccessMXBean.class).putUser("alice@blue", "alice@blue", "all", true, ANY);
      try (RawClient again = durable(broker, "absent", "alice@blue")) {
        assertThat(again.sessionPresent()).as("a tenant of the same name begins with nothing").isFalse();
        again.subscribe("#", 1);
        assertThat(bob.publishAndWait("t/last", "of green")).isZero();
        assertThat(again.publishAndWait("kept/new", "of blue")).isZero();
        assertThat(again.take().text()).isEqualTo("of blue");
        again.ping();
      }
      assertThat(bob.take().text()).isEqualTo("of green");
      bob.ping();
    }
  }

  /** A CONNECT with a will that is to be retained. */
  private static byte[] willing(String user) {
    return RawClient.connect(5, 0xC0 | 2 | 4 | 0x20, 0, RawClient.noProperties(), "willing", RawClient.noProperties(), "kept/will", "x", user, user);
  }

  @Test
  void aDeletionGoesOnAfterARestart() {
    try (TestBroker broker = broker()) {
      tenants(broker).putTenant("blue", "", 0);
      try (RawClient client = durable(broker, "a", "alice@blue")) {
        client.subscribe("t", 1);
      }
      tenants(broker).deleteTenant("blue", ANY);
    }
    try (TestBroker broker = TestBroker.on(directory.resolve("data"), SETTINGS)) {
      await().atMost(TestBroker.SOON).until(() -> tenants(broker).tenant("blue").isEmpty());
      assertThat(broker.bean("Sessions", SessionsMXBean.class).list("blue", "", "", 10)).isEmpty();
    }
  }

  @Test
  void unknownTenantsAreRefusedUntilTheyHaveARecord() {
    try (TestBroker broker = broker("dunlin.tenants.unknown", "refuse")) {
      assertThat(answer(broker, "alice@blue")).isEqualTo(0x87);
      tenants(broker).putTenant("blue", "", 0);
      assertThat(answer(broker, "alice@blue")).isZero();
      assertThat(answer(broker, "carol")).as("of the tenant default").isEqualTo(0x87);
    }
  }

  @Test
  void whatIsWrongIsRefusedAndChangesNothing() {
    try (TestBroker broker = broker()) {
      TenantsMXBean tenants = tenants(broker);
      long version = tenants.putTenant("blue", "qos=1", 0);
      assertThatThrownBy(() -> tenants.putTenant("blue", "", 0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("has version " + version);
      assertThatThrownBy(() -> tenants.suspendTenant("blue", version + 5)).isInstanceOf(IllegalStateException.class).hasMessageContaining("has version " + version);
      assertThatThrownBy(() -> tenants.suspendTenant("green", ANY)).isInstanceOf(NoSuchElementException.class);
      assertThatThrownBy(() -> tenants.deleteTenant("green", ANY)).isInstanceOf(NoSuchElementException.class);
      assertThatThrownBy(() -> tenants.putTenant("green", "", -2)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> tenants.tenants("", 0)).isInstanceOf(IllegalArgumentException.class);
      assertThat(tenants.tenants("", 10)).containsExactly(new TenantRow("blue", "active", "qos=1", 0, "", version));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"'' | qos=1 | letters", "a/b | qos=1 | letters", "blue | qos=3 | from 0 to 2", "blue | speed=1 | there is no limit", "blue | qos | is no limit"})
  void namesAndLimitsAreChecked(String name, String limits, String why) {
    try (TestBroker broker = broker()) {
      assertThatThrownBy(() -> tenants(broker).putTenant(name, limits, ANY)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(why);
      assertThatThrownBy(() -> tenants(broker).putTenant("x".repeat(65), limits, ANY)).isInstanceOf(IllegalArgumentException.class);
    }
  }
}
