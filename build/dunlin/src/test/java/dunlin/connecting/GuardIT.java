package dunlin.connecting;

import static dunlin.harness.RawClient.connect;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.broker.auth.Authenticator;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.auth.Identity;
import dunlin.broker.auth.PasswordFile;
import dunlin.broker.guard.BlockKind;
import dunlin.broker.guard.BlocksMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.model.ReasonCode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Addresses that guess at passwords and clients that connect without end, before a broker. */
class GuardIT {
  private static final String ATTACKER = "127.0.0.1";
  private static final String NEIGHBOUR = "127.0.0.2";

  @TempDir Path directory;

  private Path data() {
    return directory.resolve("data");
  }

  private TestBroker broker(String... settings) throws IOException {
    Path passwords = directory.resolve("passwords");
    for (String user : List.of("alice", "bob")) PasswordFile.put(passwords, user, "right".getBytes(StandardCharsets.UTF_8), 4_096);
    var all = new HashMap<>(Map.of("dunlin.auth.password-file", passwords.toString(), "dunlin.admin.port", "0", "dunlin.store.fsync", "false"));
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    return TestBroker.on(data(), all);
  }

  private static RawClient from(String address, int port) throws IOException {
    return new RawClient(new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName(address), 0));
  }

  private static byte[] connecting(int level, String clientId, String user, String password) {
    return connect(level, 0xC2, 0, RawClient.noProperties(), clientId, user, password);
  }

  /** The code of the CONNACK; then the connection is closed. */
  private static int answer(String address, int port, int level, String clientId, String user, String password) throws IOException {
    try (RawClient client = from(address, port)) {
      client.send(connecting(level, clientId, user, password));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  // ---------------------------------------------------------------------------------------------------------------------- guessing

  /** A hundred at once: all of them are before the authenticator before the first one has failed. */
  @Test
  void noMorePasswordsOfAnAddressAreVerifiedThanTheLimit() throws IOException {
    var verified = new AtomicInteger();
    Authenticator verifying =
        credentials -> {
          boolean right = new String(credentials.password().orElseThrow(), StandardCharsets.UTF_8).equals("right");
          if (!right) verified.incrementAndGet();
          return CompletableFuture.completedFuture(
              right ? new Decision.Accepted(Identity.of("alice")) : new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, ""));
        };
    int threads = 4;
    var builder = Dunlin.builder().inMemory().tcpPort(0).authenticator(verifying).set("dunlin.auth.failures-max", "10").set("dunlin.auth.threads", "" + threads);
    try (var events = LoggedLines.ofAudit();
        Dunlin node = builder.build()) {
      var guesses = new ArrayList<RawClient>();
      for (int i = 0; i < 100; i++) {
        RawClient guess = from(ATTACKER, node.tcpPort());
        guesses.add(guess);
        guess.send(connecting(5, "c-" + i, "alice", "wrong-" + i));
      }
      var codes = new ArrayList<Integer>();
      for (RawClient guess : guesses) {
        codes.add(guess.expect(RawClient.CONNACK).at(1));
        guess.close();
      }

      assertThat(verified.get()).as("verified").isBetween(10, 10 + threads - 1);
      assertThat(codes).filteredOn(code -> code == 0x86).hasSize(verified.get());
      assertThat(codes).containsOnly(0x86, 0x8A);
      assertThat(answer(ATTACKER, node.tcpPort(), 5, "c", "alice", "right")).as("also the right one").isEqualTo(0x8A);
      assertThat(answer(ATTACKER, node.tcpPort(), 4, "c", "alice", "right")).as("MQTT 3.1.1").isEqualTo(5);
      assertThat(answer(NEIGHBOUR, node.tcpPort(), 5, "c", "alice", "right")).as("the user from elsewhere").isZero();
      assertThat(events.of("address-blocked")).singleElement().asString().contains("address=\"127.0.0.1\" user=\"alice\" failures=10 seconds=300");
    }
  }

  /** One whose connection has ended when its password turns out to be wrong. */
  @Test
  void whoDoesNotWaitForTheAnswerIsCounted() throws IOException {
    var asked = new ConcurrentLinkedQueue<CompletableFuture<Decision>>();
    Authenticator waiting =
        _ -> {
          var later = new CompletableFuture<Decision>();
          asked.add(later);
          return later;
        };
    try (Dunlin node = Dunlin.builder().inMemory().tcpPort(0).authenticator(waiting).set("dunlin.auth.failures-max", "3").build()) {
      for (int i = 1; i <= 3; i++) {
        int guesses = i;
        try (RawClient guess = from(ATTACKER, node.tcpPort())) {
          guess.send(connecting(5, "c", "alice", "wrong-" + i));
          await().atMost(TestBroker.SOON).until(() -> asked.size() == guesses);
        }
      }
      await("they have gone").atMost(TestBroker.SOON).until(() -> TestBroker.frontend(node).connectionCount() == 0);
      for (var each : asked) each.complete(new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, ""));

      assertThat(answer(ATTACKER, node.tcpPort(), 5, "c", "alice", "right")).isEqualTo(0x8A);
      assertThat(asked).as("verified").hasSize(3);
    }
  }

  @Test
  void aUserThatIsGuessedAtFromManyAddressesGetsIn() throws IOException {
    try (var events = LoggedLines.ofAudit();
        TestBroker broker = broker("dunlin.auth.failures-max", "3", "dunlin.auth.user-failures-alert", "20")) {
      for (int i = 0; i < 40; i++) assertThat(answer("127.0.1." + (1 + i % 20), broker.port(), 5, "c", "alice", "wrong")).isEqualTo(0x86);

      assertThat(answer(NEIGHBOUR, broker.port(), 5, "c", "alice", "right")).isZero();
      assertThat(broker.bean("Blocks", BlocksMXBean.class).blocks(BlockKind.ADDRESS, "", "", 100)).isEmpty();
      assertThat(events.of("user-guessed")).singleElement().asString().contains("user=\"alice\" address=\"/127.0.1.", "failures=20");
    }
  }

  @Test
  void behindAProxyTheAddressInItsHeaderCounts() throws IOException {
    String more = "dunlin.listeners.more.";
    try (TestBroker broker = broker("dunlin.auth.failures-max", "3", more + "port", "0", more + "proxy-protocol", "required")) {
      for (int i = 0; i < 3; i++) assertThat(proxied(broker, "203.0.113.7", "wrong")).isEqualTo(0x86);

      assertThat(proxied(broker, "203.0.113.7", "right")).isEqualTo(0x8A);
      assertThat(proxied(broker, "203.0.113.8", "right")).isZero();
      assertThat(answer("127.0.0.1", broker.port(), 5, "c", "alice", "right")).as("the proxy's own address").isZero();
    }
  }

  private static int proxied(TestBroker broker, String source, String password) {
    try (var client = new RawClient(broker.node().port("more"))) {
      byte[] header = "PROXY TCP4 %s 127.0.0.1 5555 1883\r\n".formatted(source).getBytes(StandardCharsets.US_ASCII);
      client.sendBehind(header, connecting(5, "c", "alice", password), Integer.MAX_VALUE);
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  // ---------------------------------------------------------------------------------------------------------------------- flapping

  @Test
  void twoDevicesWithOneIdentifierDoNotTakeOverForEver() throws IOException {
    try (var events = LoggedLines.ofAudit();
        TestBroker broker = broker("dunlin.flapping.connects-max", "6", "dunlin.flapping.block", "1h")) {
      var connected = new ArrayList<RawClient>();
      for (int i = 0; i < 6; i++) {
        RawClient device = from(i % 2 == 0 ? ATTACKER : NEIGHBOUR, broker.port());
        device.connect(connecting(5, "pump", "alice", "right"));
        if (i > 0) connected.getLast().expectDisconnect(0x8E);
        connected.add(device);
      }

      assertThat(answer(ATTACKER, broker.port(), 5, "pump", "alice", "right")).isEqualTo(0x9F);
      assertThat(answer(ATTACKER, broker.port(), 4, "pump", "alice", "right")).as("MQTT 3.1.1").isEqualTo(3);
      connected.getLast().ping();
      assertThat(answer(ATTACKER, broker.port(), 5, "valve", "alice", "right")).as("another client").isZero();
      for (RawClient each : connected) each.close();
      assertThat(events.of("client-flapping")).singleElement().asString()
          .contains(
              "client=\"pump\"", "address=\"/127.0.0.2:", "other-address=\"/127.0.0.1:", "other-node=\"\"", "connects=6 takeovers=5", "two devices",
              "seconds=3600");
    }
  }

  /** Nor is it called two devices. */
  @Test
  void aClientThatLeavesItsConnectionsOpenIsBlockedAsWell() throws IOException {
    try (var events = LoggedLines.ofAudit();
        TestBroker broker = broker("dunlin.flapping.connects-max", "4")) {
      var connected = new ArrayList<RawClient>();
      for (int i = 0; i < 4; i++) {
        connected.add(from(NEIGHBOUR, broker.port()));
        connected.getLast().connect(connecting(5, "pump", "alice", "right"));
      }
      for (RawClient each : connected) each.close();

      assertThat(answer(NEIGHBOUR, broker.port(), 5, "pump", "alice", "right")).isEqualTo(0x9F);
      assertThat(events.of("client-flapping")).singleElement().asString()
          .contains("other-address=\"\" other-node=\"\" connects=4 takeovers=3 explanation=\"one client connects again")
          .doesNotContain("two devices");
    }
  }

  @Test
  void aStrangerCannotHaveAClientBlocked() throws IOException {
    try (TestBroker broker = broker("dunlin.flapping.connects-max", "3", "dunlin.auth.failures-max", "0");
        RawClient pump = from(NEIGHBOUR, broker.port())) {
      byte[] durable = connect(5, 0xC0, 0, RawClient.properties(RawClient.sessionExpiry(600)), "pump", "alice", "right");
      pump.connect(durable);
      for (int i = 0; i < 10; i++) {
        assertThat(answer(ATTACKER, broker.port(), 5, "pump", "alice", "wrong")).as("without the password").isEqualTo(0x86);
        assertThat(answer(ATTACKER, broker.port(), 5, "pump", "bob", "right")).as("as another user").isEqualTo(0x87);
      }

      pump.ping();
      try (RawClient again = from(NEIGHBOUR, broker.port())) {
        again.connect(durable);
      }
    }
  }

  // --------------------------------------------------------------------------------------------------------------------- operators

  @Test
  void operatorsSeeAndEndBlocks() throws IOException {
    Path tokens = Files.writeString(directory.resolve("tokens"), AdminTokens.line("viewer", Role.VIEWER, "viewer-token") + "\n");
    try (var events = LoggedLines.ofAudit();
        TestBroker broker =
            broker(
                "dunlin.auth.failures-max", "3", "dunlin.flapping.connects-max", "2", "dunlin.flapping.block", "1h", "dunlin.admin.token-file", tokens.toString());
        ApiCalls api = ApiCalls.of(data());
        ApiCalls viewer = api.with("viewer-token")) {
      for (int i = 0; i < 2; i++) assertThat(answer(NEIGHBOUR, broker.port(), 5, "a/b", "alice", "right")).isZero();
      assertThat(answer(NEIGHBOUR, broker.port(), 5, "a/b", "alice", "right")).isEqualTo(0x9F);
      for (int i = 0; i < 3; i++) assertThat(answer(ATTACKER, broker.port(), 5, "c", "alice", "wrong")).isEqualTo(0x86);
      assertThat(answer(ATTACKER, broker.port(), 5, "c", "alice", "right")).isEqualTo(0x8A);

      assertThat(viewer.get("/blocks/address").members("value")).containsExactly("127.0.0.1");
      assertThat(viewer.get("/blocks/address").members("reason")).containsExactly("3 failed authentications");
      assertThat(viewer.get("/blocks/client").members("value")).containsExactly("a/b");
      assertThat(viewer.get("/blocks/client?tenant=other").members("value")).isEmpty();
      assertThat(viewer.delete("/blocks/address/127.0.0.1").status()).isEqualTo(403);
      assertThat(api.get("/blocks/user").status()).as("user names are not blocked").isEqualTo(400);
      assertThat(api.delete("/blocks/address/example.com").status()).isEqualTo(400);
      assertThat(api.delete("/blocks/address/127.0.0.3").status()).isEqualTo(404);
      assertThat(api.delete("/blocks/client/a%2Fb?tenant=other").status()).isEqualTo(404);

      assertThat(api.delete("/blocks/address/127.0.0.1").status()).isEqualTo(200);
      assertThat(api.delete("/blocks/client/a%2Fb").status()).isEqualTo(200);
      assertThat(answer(ATTACKER, broker.port(), 5, "c", "alice", "right")).isZero();
      assertThat(answer(NEIGHBOUR, broker.port(), 5, "a/b", "alice", "right")).isZero();
      assertThat(viewer.get("/blocks/client").members("value")).isEmpty();
      assertThat(events.of("block-removed")).hasSize(2).anyMatch(line -> line.contains("kind=client tenant=\"default\" value=\"a/b\""));
    }
  }

  @Test
  void withoutLimitsNothingIsBlocked() throws IOException {
    Authenticator asThePasswordSays =
        credentials ->
            CompletableFuture.completedFuture(
                credentials.password().orElseThrow().length == 0
                    ? new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, "")
                    : new Decision.Accepted(Identity.of("alice")));
    var off = Dunlin.builder().inMemory().tcpPort(0).authenticator(asThePasswordSays).set("dunlin.auth.failures-max", "0").set("dunlin.flapping.connects-max", "0");
    try (Dunlin node = off.build()) {
      for (int i = 0; i < 700; i++) {
        assertThat(answer(ATTACKER, node.tcpPort(), 5, "c", "alice", "")).isEqualTo(0x86);
        assertThat(answer(ATTACKER, node.tcpPort(), 5, "c", "alice", "right")).isZero();
      }
    }
  }
}
