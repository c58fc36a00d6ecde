package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.admin.peers.AllNodesMXBean.ClientPage;
import dunlin.admin.peers.AllNodesMXBean.NodeHealth;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.broker.client.ClientsMXBean.InFlightRow;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.management.JMX;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connected clients by the admin API and by JMX, beside what the clients themselves see. */
class ClientsApiIT {
  private static final int CLEAN = 0x02;
  private static final int USER_AND_PASSWORD = 0xC0;
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final int KEEP_ALIVE = 45;

  @TempDir Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() throws IOException {
    Path passwords = directory.resolve("passwords");
    for (String user : List.of("alice", "bob")) PasswordFile.put(passwords, user, user.getBytes(StandardCharsets.UTF_8), 4_096);
    Path data = directory.resolve("data");
    broker =
        TestBroker.on(
            data,
            Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.auth.password-file", passwords.toString(), "dunlin.auth.anonymous", "true"));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private RawClient of(String user, String clientId) {
    return RawClient.connected(
        broker.port(), RawClient.connect(5, CLEAN | USER_AND_PASSWORD, KEEP_ALIVE, RawClient.noProperties(), clientId, user, user));
  }

  private ClientsMXBean bean() {
    return broker.bean("Clients", ClientsMXBean.class);
  }

  @Test
  void clientsAreListedByTheirNamesAndUsers() throws Exception {
    try (var _ = of("alice", "meter-2");
        var _ = of("bob", "meter-1");
        var _ = of("alice", "meter-3");
        var _ = RawClient.connected3(broker, "van-1")) {
      Answer first = api.get("/clients?limit=2");
      assertThat(first.members("clientId")).containsExactly("meter-1", "meter-2");
      assertThat(first.members("user")).containsExactly("bob", "alice");
      Answer second = api.get("/clients?limit=2&cursor=" + first.member("next"));
      assertThat(second.members("clientId")).containsExactly("meter-3", "van-1");
      assertThat(second.members("protocol")).containsExactly("5.0", "3.1.1");
      assertThat(api.get("/clients/van-1").member("keepAliveSeconds")).isEqualTo("0");
      assertThat(api.get("/clients/van-1").member("silentMillis")).isEqualTo("0");
      assertThat(api.get("/clients?limit=2&cursor=" + second.member("next")).members("clientId")).isEmpty();

      assertThat(api.get("/clients?prefix=meter-&user=alice").members("clientId")).containsExactly("meter-2", "meter-3");
      assertThat(api.get("/clients?user=al").members("clientId")).as("the beginning of a user name").isEmpty();
      assertThat(api.get("/clients?listener=tcp&user=bob").members("clientId")).containsExactly("meter-1");
      assertThat(api.get("/clients?listener=tls").members("clientId")).isEmpty();
      assertThat(api.get("/clients?tenant=another").members("clientId")).isEmpty();
      assertThat(api.get("/clients?limit=1001").status()).isEqualTo(400);

      assertThat(bean().list("default", "", "", "", "", 10)).extracting(ClientRow::clientId).containsExactly("meter-1", "meter-2", "meter-3", "van-1");
      assertThat(bean().list("default", "", "", "", "", 10)).extracting(ClientRow::address).isEqualTo(api.get("/clients").members("address"));
      ClientPage all = broker.bean("AllNodes", AllNodesMXBean.class).clients("default", "", "", "", "", 10);
      assertThat(all.clients()).isEqualTo(bean().list("default", "", "", "", "", 10));
      assertThat(all.unanswered()).isEmpty();
      assertThat(broker.bean("AllNodes", AllNodesMXBean.class).health()).extracting(NodeHealth::readiness).containsExactly("ready");
    }
    await().atMost(TestBroker.SOON).until(() -> api.get("/clients").members("clientId").isEmpty());
  }

  @Test
  void aClientIsShownAsItHasConnected() throws Exception {
    try (var alice = of("alice", "meter-1");
        var _ = RawClient.connected(broker.port(), Connect.of("with will").receiveMaximum(7).will("gone", "with will", 1, 0))) {
      Answer shown = api.get("/clients/meter-1");
      assertThat(shown.status()).isEqualTo(200);
      assertThat(shown.member("user")).isEqualTo("alice");
      assertThat(shown.member("listener")).isEqualTo("tcp");
      assertThat(shown.member("address")).startsWith("127.0.0.1:");
      assertThat(shown.member("keepAliveSeconds")).isEqualTo(Integer.toString(KEEP_ALIVE));
      assertThat(shown.json().get("silentMillis").getAsLong()).isBetween(0L, 60_000L);
      assertThat(shown.json().get("tls").getAsBoolean()).isFalse();
      assertThat(shown.json().get("will").getAsBoolean()).isFalse();
      assertThat(shown.json().get("durable").getAsBoolean()).isFalse();
      assertThat(shown.json().getAsJsonArray("held")).isEmpty();
      assertThat(Instant.parse(shown.member("connectedSince"))).isBetween(Instant.now().minus(Duration.ofMinutes(5)), Instant.now().plusSeconds(1));

      Answer other = api.get("/clients/with%20will");
      assertThat(other.member("user")).isEmpty();
      assertThat(other.json().get("will").getAsBoolean()).isTrue();
      assertThat(other.json().get("durable").getAsBoolean()).isTrue();
      assertThat(other.member("sessionExpirySeconds")).isEqualTo("3600");
      assertThat(other.member("receiveMaximum")).isEqualTo("7");
      assertThat(other.member("keepAliveSeconds")).as("18 hours, the longest, instead of none").isEqualTo("64800");

      assertThat(api.get("/clients/meter").status()).as("the beginning of a client identifier").isEqualTo(404);
      assertThat(bean().get("default", "meter-1")).singleElement().satisfies(each -> assertThat(each.address()).isEqualTo(shown.member("address")));
      assertThat(bean().get("default", "meter")).isEmpty();
      alice.publishAndWait("a", "b");
    }
  }

  @Test
  void subscriptionsOfAClientComeInPages() throws Exception {
    try (var online = RawClient.connected(broker.port(), Connect.of("online").expiry(0));
        var durable = RawClient.connected(broker.port(), Connect.of("durable"));
        var _ = RawClient.connected(broker.port(), Connect.of("without"))) {
      for (String filter : List.of("b/#", "a", "$share/group/c")) {
        online.subscribe(filter, 2);
        durable.subscribe(filter, 1);
      }
      for (String clientId : List.of("online", "durable")) {
        Answer first = api.get("/clients/" + clientId + "/subscriptions?limit=2");
        assertThat(first.members("filter")).containsExactly("$share/group/c", "a");
        assertThat(first.members("qos")).containsOnly(clientId.equals("online") ? "2" : "1");
        assertThat(api.get("/clients/" + clientId + "/subscriptions?limit=2&cursor=" + first.member("next")).members("filter")).containsExactly("b/#");
        assertThat(api.get("/clients/" + clientId).member("subscriptions")).isEqualTo("3");
      }
      assertThat(bean().subscriptions("default", "online", "a", 10)).singleElement().satisfies(each -> assertThat(each.filter()).isEqualTo("b/#"));
      assertThat(api.get("/clients/without/subscriptions").members("filter")).isEmpty();
      assertThat(api.get("/clients/none/subscriptions").status()).isEqualTo(404);
    }
  }

  @Test
  void whatWaitsForAClientIsShownAndPutsItFirst() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("slow").expiry(0).receiveMaximum(1));
        var quick = RawClient.connected(broker.port(), Connect.of("quick").expiry(0));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher"))) {
      slow.subscribe("t", 1);
      quick.subscribe("t", 1);
      for (int i = 0; i < 3; i++) publisher.publishAndWait("t", "0123456789");

      assertThat(api.get("/clients/slow").member("inFlight")).isEqualTo("1");
      assertThat(api.get("/clients/slow").member("queued")).isEqualTo("2");
      assertThat(api.get("/clients/slow").json().get("queuedBytes").getAsLong()).isGreaterThanOrEqualTo(20);
      assertThat(api.get("/clients/slow").json().get("memoryBytes").getAsLong()).isGreaterThan(30);
      assertThat(api.get("/clients/quick").member("inFlight")).isEqualTo("3");
      assertThat(api.get("/top/clients?by=queued").members("clientId")).containsExactly("slow");
      assertThat(api.get("/top/clients?by=in-flight").members("clientId")).containsExactly("quick", "slow");
      assertThat(api.get("/top/clients?by=in-flight&limit=1").members("clientId")).containsExactly("quick");
      assertThat(bean().top(ClientFigure.IN_FLIGHT, 10)).extracting(ClientRow::clientId).containsExactly("quick", "slow");
      assertThat(api.get("/top/clients?by=name").status()).isEqualTo(400);
      assertThat(api.get("/top/clients?limit=101").status()).isEqualTo(400);
      assertThat(api.get("/top/clients?cursor=a").status()).isEqualTo(400);
    }
  }

  @Test
  void clientsAreComparedByTheAgeOfWhatWaitsAndByTheirRates() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("slow").expiry(0).receiveMaximum(1));
        var quick = RawClient.connected(broker.port(), Connect.of("quick").expiry(0));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      slow.subscribe("t", 1);
      quick.subscribe("t", 0);
      publisher.publishAndWait("t", "");
      assertThat(api.get("/top/clients?by=oldest").members("clientId")).containsExactly("slow");
      assertThat(api.get("/top/clients?by=oldest").members("oldestMillis")).allSatisfy(each -> assertThat(Long.parseLong(each)).isPositive());
      assertThat(api.get("/top/clients?by=oldest").members("perSecond")).containsExactly("-1");
      assertThat(api.get("/top/clients?by=published-rate").members("clientId")).as("the rate of now").isEmpty();

      AtomicBoolean stopped = new AtomicBoolean();
      Thread publishing =
          Thread.ofVirtual()
              .start(
                  () -> {
                    while (!stopped.get()) publisher.publishAndWait("t", "");
                  });
      try {
        await().atMost(TestBroker.SOON).until(() -> api.get("/top/clients?by=published-rate").members("clientId").equals(List.of("publisher")));
        await().atMost(TestBroker.SOON).until(() -> api.get("/top/clients?by=sent-rate").members("clientId").equals(List.of("quick")));
        assertThat(bean().top(ClientFigure.PUBLISHED_RATE, 1)).allSatisfy(each -> assertThat(each.perSecond()).isPositive());
      } finally {
        stopped.set(true);
        publishing.join();
      }
      slow.puback(slow.next(RawClient.PUBLISH).packetId());
      assertThat(slow.next(RawClient.PUBLISH).text()).as("the next one").isEmpty();
    }
  }

  @Test
  void messagesBetweenAClientAndItsNodeAreShownByTheirStates() throws Exception {
    try (var slow = RawClient.connected(broker.port(), Connect.of("slow").expiry(0).receiveMaximum(2));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      slow.subscribe("t/#", 2);
      publisher.publish("t/1", 2, 7, "one");
      publisher.expect(RawClient.PUBREC);
      publisher.publishAndWait("t/2", "two");
      publisher.publishAndWait("t/3", "three");
      publisher.publishAndWait("t/4", "four");
      int first = slow.next(RawClient.PUBLISH).packetId();
      int second = slow.next(RawClient.PUBLISH).packetId();

      Answer sent = api.get("/clients/slow/inflight");
      assertThat(sent.members("direction")).containsOnly("out");
      assertThat(sent.members("packetId")).containsExactly(Integer.toString(first), Integer.toString(second));
      assertThat(sent.members("topic")).containsExactly("t/1", "t/2");
      assertThat(sent.members("qos")).containsExactly("2", "1");
      assertThat(sent.members("state")).containsOnly("sent");
      assertThat(sent.members("publisher")).containsOnly("publisher");
      Answer page = api.get("/clients/slow/inflight?limit=1");
      assertThat(page.members("topic")).containsExactly("t/1");
      assertThat(api.get("/clients/slow/inflight?limit=1&cursor=" + page.member("next")).members("topic")).containsExactly("t/2");

      Answer waiting = api.get("/clients/slow/queue");
      assertThat(waiting.members("place")).containsExactly("1", "2");
      assertThat(waiting.members("topic")).containsExactly("t/3", "t/4");
      assertThat(waiting.members("payloadBytes")).containsExactly("5", "4");
      assertThat(waiting.members("expiresAt")).containsOnly("");
      Answer next = api.get("/clients/slow/queue?limit=1");
      assertThat(api.get("/clients/slow/queue?limit=1&cursor=" + next.member("next")).members("topic")).containsExactly("t/4");

      slow.pubrec(first);
      slow.expect(RawClient.PUBREL);
      assertThat(api.get("/clients/slow/inflight").members("state")).containsExactly("released", "sent");
      Answer received = api.get("/clients/publisher/inflight");
      assertThat(received.members("direction")).containsExactly("in");
      assertThat(received.members("packetId")).containsExactly("7");
      assertThat(received.members("state")).containsExactly("received");
      assertThat(received.members("ageSeconds")).containsExactly("-1");
      publisher.pubrel(7);
      publisher.expect(RawClient.PUBCOMP);
      assertThat(api.get("/clients/publisher/inflight").members("packetId")).isEmpty();
      slow.pubcomp(first);
      assertThat(slow.next(RawClient.PUBLISH).topic()).isEqualTo("t/3");
      assertThat(api.get("/clients/slow/queue").members("topic")).containsExactly("t/4");
      assertThat(bean().inFlight("default", "slow", 0, 10)).extracting(InFlightRow::topic).containsExactly("t/2", "t/3");
      assertThat(broker.bean("AllNodes", AllNodesMXBean.class).queue("default", "slow", 0, 10)).isEqualTo(bean().queue("default", "slow", 0, 10));
    }
  }

  @Test
  void aMessageForADurableSessionIsInFlightUntilItIsAcknowledged() throws Exception {
    try (var durable = RawClient.connected(broker.port(), Connect.of("durable").receiveMaximum(1));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher"))) {
      durable.subscribe("t", 2);
      publisher.publish("t", 2, 1, "one");
      publisher.expect(RawClient.PUBREC);
      int packetId = durable.next(RawClient.PUBLISH).packetId();
      assertThat(api.get("/clients/durable/inflight").members("state")).containsExactly("sent");

      durable.pubrec(packetId);
      durable.expect(RawClient.PUBREL);
      assertThat(api.get("/clients/durable/inflight").members("state")).containsExactly("released");
      durable.pubcomp(packetId);
      await().atMost(TestBroker.SOON).until(() -> api.get("/clients/durable/inflight").members("state").isEmpty());
    }
  }

  @Test
  void messagesOfAClientThatIsNotThereAreRefused() throws Exception {
    for (String what : List.of("inflight", "queue")) {
      assertThat(api.get("/clients/none/" + what).status()).isEqualTo(404);
      assertThat(api.get("/clients/none/" + what + "?cursor=bm8").status()).as("a cursor that is no number").isEqualTo(400);
      assertThat(api.get("/clients/none/" + what + "?limit=201").status()).isEqualTo(400);
      try (var _ = RawClient.connected(broker.port(), Connect.of("idle"))) {
        assertThat(api.get("/clients/idle/" + what).status()).isEqualTo(200);
        assertThat(api.get("/clients/idle/" + what + "?tenant=another").status()).isEqualTo(404);
      }
    }
    assertThatThrownBy(() -> bean().inFlight("default", "none", -1, 10)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> bean().queue("default", "none", 0, 101)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aClientIsDisconnectedWithAndWithoutADurableSession() {
    try (var online = RawClient.connected(broker.port(), Connect.of("online").expiry(0).will("gone", "online", 1, 0));
        var durable = RawClient.connected(broker.port(), Connect.of("durable"));
        var watcher = RawClient.connected(broker.port(), Connect.of("watcher"))) {
      watcher.subscribe("gone", 1);
      assertThat(api.delete("/clients/none").status()).isEqualTo(404);
      assertThat(api.delete("/clients/online").status()).isEqualTo(200);
      assertThat(online.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
      assertThat(watcher.next(RawClient.PUBLISH).text()).isEqualTo("online");
      assertThat(api.delete("/clients/online").status()).isEqualTo(404);
      assertThat(api.delete("/clients/durable").status()).isEqualTo(200);
      assertThat(durable.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
    }
    assertThat(api.get("/sessions/online").status()).isEqualTo(404);
    assertThat(api.get("/sessions/durable").status()).isEqualTo(200);
  }
}
