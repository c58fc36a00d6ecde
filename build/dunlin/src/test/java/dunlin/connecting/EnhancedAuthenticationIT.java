package dunlin.connecting;

import static dunlin.harness.RawClient.bytes;
import static dunlin.harness.RawClient.connect;
import static dunlin.harness.RawClient.packet;
import static dunlin.harness.RawClient.properties;
import static dunlin.harness.RawClient.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.EnhancedAuthenticator;
import dunlin.broker.auth.Identity;
import dunlin.harness.RawClient;
import dunlin.model.ReasonCode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The exchange of AUTH packets, packet by packet; MQTT 5, sections 3.15 and 4.12. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class EnhancedAuthenticationIT {
  private static final int AUTH = 0xF0;
  private static final int CONTINUE = 0x18;
  private static final int AGAIN = 0x19;
  private static final int METHOD_PROPERTY = 0x15;
  private static final int DATA_PROPERTY = 0x16;

  /** Pending answers to "wait" orders, by client. */
  private final Map<String, CompletableFuture<EnhancedAuthenticator.Step>> waiting = new ConcurrentHashMap<>();

  /**
   * A method whose data are orders: {@code as:<user>} succeeds, {@code more} continues, {@code no} and {@code banned}
   * fail, {@code throw} throws, {@code large} answers 200 bytes, {@code wait} is answered by the test.
   */
  private final class Orders implements EnhancedAuthenticator {
    @Override
    public String method() {
      return "ORDERS";
    }

    @Override
    public Exchange begin(Credentials credentials) {
      return data -> step(credentials.clientId(), new String(data, StandardCharsets.UTF_8));
    }

    private CompletionStage<Step> step(String clientId, String order) {
      if (order.startsWith("as:")) {
        return CompletableFuture.completedFuture(new Step.Success(utf8("welcome"), Identity.of(order.substring(3))));
      }
      return switch (order) {
        case "more" -> CompletableFuture.completedFuture(new Step.Continue(utf8("go on")));
        case "large" -> CompletableFuture.completedFuture(new Step.Continue(new byte[200]));
        case "throw" -> throw new IllegalStateException("ordered to");
        case "wait" -> {
          CompletableFuture<Step> answer = new CompletableFuture<>();
          waiting.put(clientId, answer);
          yield answer;
        }
        case "banned" -> CompletableFuture.completedFuture(new Step.Failure(ReasonCode.BANNED, "ordered to"));
        default -> CompletableFuture.completedFuture(new Step.Failure(ReasonCode.NOT_AUTHORIZED, "ordered to"));
      };
    }
  }

  private final Dunlin node = started("1m", "1m");

  /** It waits for a short time only, so that a correct client may come too late for it. */
  private final Dunlin hurried = started("2s", "3s");

  private Dunlin started(String authTimeout, String connectTimeout) {
    return Dunlin.builder()
        .inMemory()
        .tcpPort(0)
        .enhancedAuthenticator(new Orders())
        .set("dunlin.auth.anonymous", "true")
        .set("dunlin.auth.timeout", authTimeout)
        .set("dunlin.auth.failures-max", "0")
        .set("dunlin.mqtt.connect-timeout", connectTimeout)
        .build();
  }

  @AfterAll
  void stop() {
    node.close();
    hurried.close();
  }

  private RawClient client() {
    return new RawClient(node.tcpPort());
  }

  private static byte[] connecting(String clientId, String order, byte[]... more) {
    byte[] all = bytes((Object[]) more);
    return connect(5, true, 0, clientId, properties(method("ORDERS"), data(order), all));
  }

  private static byte[] method(String method) {
    return bytes(METHOD_PROPERTY, method);
  }

  private static byte[] data(String data) {
    return bytes(DATA_PROPERTY, data);
  }

  private static byte[] auth(int reason, String order) {
    return packet(AUTH, reason, properties(method("ORDERS"), data(order)));
  }

  /** A client that is connected as alice. */
  private RawClient alice(String clientId, byte[]... more) {
    return alice(client(), clientId, more);
  }

  private static RawClient alice(RawClient client, String clientId, byte[]... more) {
    client.send(connecting(clientId, "as:alice", more));
    assertThat(client.expect(RawClient.CONNACK).at(1)).isZero();
    return client;
  }

  private static String text(RawClient.Packet packet) {
    return new String(packet.body(), StandardCharsets.ISO_8859_1);
  }

  private static void expectConnack(RawClient client, int reason) {
    RawClient.Packet connack = client.expect(RawClient.CONNACK);
    assertThat(connack.at(1)).as("%s", connack).isEqualTo(reason);
    if (reason != 0) client.expectClosed();
  }

  @Test
  @Tag("MQTT-4.12.0-2")
  @Tag("MQTT-4.12.0-5")
  @Tag("MQTT-3.15.1-1")
  @Tag("MQTT-3.15.2-1")
  void allAuthPacketsAndConnackHaveTheMethodOfConnect() {
    try (RawClient client = client()) {
      client.send(connecting("rounds", "more"));
      for (int i = 0; i < 3; i++) {
        RawClient.Packet auth = client.expect(AUTH);
        assertThat(auth.first()).isEqualTo(AUTH);
        assertThat(auth.body()).isEqualTo(bytes(CONTINUE, properties(method("ORDERS"), data("go on"))));
        client.send(auth(CONTINUE, i == 2 ? "as:alice" : "more"));
      }
      RawClient.Packet connack = client.expect(RawClient.CONNACK);
      assertThat(connack.at(1)).isZero();
      assertThat(text(connack)).contains(text(new RawClient.Packet(5, 0, bytes(method("ORDERS"), data("welcome")))));
      client.ping();
    }
  }

  @Test
  void aMethodMayNeedOneStepOnly() {
    try (RawClient client = alice("one step")) {
      client.ping();
    }
  }

  @Test
  @Tag("MQTT-4.12.0-4")
  void aClientIsRefusedInAnyRound() {
    try (RawClient at = client();
        RawClient later = client();
        RawClient banned = client()) {
      at.send(connecting("c", "no"));
      expectConnack(at, 0x87);
      later.send(connecting("c", "more"));
      later.expect(AUTH);
      later.send(auth(CONTINUE, "no"));
      expectConnack(later, 0x87);
      banned.send(connecting("c", "banned"));
      expectConnack(banned, 0x8A);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"OTHER", "orders", ""})
  @Tag("MQTT-4.12.0-1")
  @Tag("pitfall-15")
  void anUnknownMethodIsRefused(String method) {
    try (RawClient client = client()) {
      client.send(connect(5, true, 0, "c", properties(method(method))));
      expectConnack(client, 0x8C);
    }
  }

  @Test
  @Tag("pitfall-15")
  void authenticationDataWithoutAMethodIsAProtocolError() {
    try (RawClient client = client()) {
      client.send(connect(5, true, 0, "c", properties(data("as:alice"))));
      expectConnack(client, 0x82);
    }
  }

  @Test
  @Tag("MQTT-4.12.0-6")
  @Tag("MQTT-4.12.0-7")
  @Tag("pitfall-16")
  void aClientWithoutAMethodNeitherGetsNorMaySendAuth() {
    try (RawClient client = client()) {
      client.send(connect(5, true, 0, "no method", properties()));
      RawClient.Packet connack = client.expect(RawClient.CONNACK);
      assertThat(text(connack)).doesNotContain("ORDERS");
      client.send(auth(AGAIN, "as:alice"));
      client.expectDisconnect(0x82);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4})
  @Tag("pitfall-16")
  void aClientOfMqtt3MayNotSendAuth(int level) {
    try (RawClient client = client()) {
      client.connect(connect(level, true, 0, "three", RawClient.noProperties()));
      client.send(packet(AUTH));
      client.expectClosed();
    }
  }

  @Test
  @Tag("MQTT-3.15.1-1")
  void authWithFlagsIsMalformed() {
    try (RawClient client = alice("flags")) {
      client.send(packet(AUTH | 1, AGAIN, properties(method("ORDERS"), data("as:alice"))));
      client.expectDisconnect(0x81);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0x00, 0x17, 0x80, 0x87})
  @Tag("MQTT-3.15.2-1")
  void authWithAnyOtherReasonIsAProtocolError(int reason) {
    try (RawClient client = alice("reason");
        RawClient connecting = client()) {
      client.send(auth(reason, "as:alice"));
      client.expectDisconnect(0x82);
      connecting.send(connecting("c", "more"));
      connecting.expect(AUTH);
      connecting.send(auth(reason, "as:alice"));
      expectConnack(connecting, 0x82);
    }
  }

  @Test
  @Tag("MQTT-4.12.0-3")
  void anAnswerMustSayContinue() {
    try (RawClient client = client()) {
      client.send(connecting("c", "more"));
      client.expect(AUTH);
      client.send(auth(AGAIN, "as:alice"));
      expectConnack(client, 0x82);
    }
  }

  @Test
  @Tag("MQTT-4.12.0-5")
  void anAnswerWithAnotherMethodOrNoneIsRefused() {
    try (RawClient other = client();
        RawClient none = client()) {
      other.send(connecting("c", "more"));
      other.expect(AUTH);
      other.send(packet(AUTH, CONTINUE, properties(method("OTHER"), data("as:alice"))));
      expectConnack(other, 0x8C);
      none.send(connecting("c", "more"));
      none.expect(AUTH);
      none.send(packet(AUTH, CONTINUE, properties(data("as:alice"))));
      expectConnack(none, 0x82);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {RawClient.PUBLISH, RawClient.SUBSCRIBE, RawClient.PINGREQ, RawClient.PUBACK, RawClient.CONNECT})
  @Tag("MQTT-3.1.2-30")
  void onlyAuthAndDisconnectMayComeBeforeConnack(int type) {
    byte[] early =
        switch (type) {
          case RawClient.PUBLISH -> packet(type, "topic", RawClient.noProperties(), bytes(1));
          case RawClient.SUBSCRIBE -> packet(type, u16(1), RawClient.noProperties(), "topic", 0);
          case RawClient.PUBACK -> packet(type, u16(1));
          case RawClient.CONNECT -> connecting("c", "as:alice");
          default -> packet(type);
        };
    try (RawClient client = client();
        RawClient asking = client()) {
      client.send(connecting("c", "more"));
      client.expect(AUTH);
      client.send(early);
      expectConnack(client, 0x82);
      asking.send(bytes(connecting("c", "wait"), early));
      expectConnack(asking, 0x82);
    }
  }

  @Test
  @Tag("MQTT-3.1.2-30")
  void aClientMayGiveUpBeforeConnack() {
    try (RawClient client = client()) {
      client.send(connecting("c", "more"));
      client.expect(AUTH);
      client.send(packet(RawClient.DISCONNECT));
      client.expectClosed();
    }
  }

  /** For a client that is not authenticated, no more bytes are held than a CONNECT may have. */
  @Test
  void authBeforeConnackIsNoLargerThanConnectMayBe() {
    try (RawClient client = client()) {
      client.send(connecting("c", "more"));
      client.expect(AUTH);
      client.send(bytes(AUTH, RawClient.varint(200 * 1_024)));
      expectConnack(client, 0x95);
    }
  }

  @Test
  void anUnrequestedAnswerIsAProtocolError() {
    try (RawClient asking = client();
        RawClient connected = alice("unasked")) {
      asking.send(bytes(connecting("c", "wait"), auth(CONTINUE, "as:alice")));
      expectConnack(asking, 0x82);
      connected.send(auth(CONTINUE, "as:alice"));
      connected.expectDisconnect(0x82);
    }
  }

  @Test
  void theRoundsOfAnExchangeAreBounded() {
    try (RawClient client = client()) {
      client.send(connecting("c", "more"));
      for (int round = 1; round <= 16; round++) {
        client.expect(AUTH);
        client.send(auth(CONTINUE, "more"));
      }
      expectConnack(client, 0x87);
    }
  }

  @Test
  void aClientThatDoesNotAnswerIsClosedAfterTheConnectTimeout() {
    try (RawClient client = new RawClient(hurried.tcpPort())) {
      client.send(connecting("c", "more"));
      client.expect(AUTH);
      expectConnack(client, 0x87);
    }
  }

  @Test
  void aFailingAuthenticatorRefusesAllClients() {
    for (String order : new String[] {"throw", "wait"}) {
      try (RawClient client = client()) {
        client.send(connecting("fails", order));
        if (order.equals("wait")) answer("fails").completeExceptionally(new IllegalStateException("ordered to"));
        expectConnack(client, 0x80);
      }
    }
  }

  @Test
  void anAuthenticatorThatDoesNotAnswerRefusesAllClients() {
    try (RawClient client = new RawClient(hurried.tcpPort())) {
      client.send(connecting("late", "wait"));
      expectConnack(client, 0x88);
      answer("late").complete(new EnhancedAuthenticator.Step.Success(new byte[0], Identity.of("late")));
    }
  }

  @Test
  void aChallengeThatIsTooLargeForTheClientEndsTheExchange() {
    try (RawClient client = client()) {
      client.send(connecting("c", "large", RawClient.maximumPacketSize(150)));
      expectConnack(client, 0x95);
    }
  }

  // ---------------------------------------------------------------------------------------------------------- again, connected

  @Test
  @Tag("MQTT-4.12.1-1")
  void aConnectedClientReauthenticates() {
    try (RawClient client = alice("again")) {
      for (int i = 0; i < 3; i++) {
        client.send(auth(AGAIN, "more"));
        assertThat(client.expect(AUTH).body()).isEqualTo(bytes(CONTINUE, properties(method("ORDERS"), data("go on"))));
        client.send(auth(CONTINUE, "as:alice"));
        assertThat(client.expect(AUTH).body()).isEqualTo(bytes(0x00, properties(method("ORDERS"), data("welcome"))));
      }
      client.ping();
    }
  }

  @Test
  void otherPacketsAreServedDuringReauthentication() {
    try (RawClient client = alice("meanwhile")) {
      client.subscribe("meanwhile", 1);
      client.send(auth(AGAIN, "wait"));
      client.publish("meanwhile", 1, 1, "while it is asked");
      assertThat(client.take().text()).isEqualTo("while it is asked");
      answer("meanwhile").complete(new EnhancedAuthenticator.Step.Continue(new byte[0]));
      awaitAuth(client);
      client.publish("meanwhile", 1, 2, "while it is waited for");
      assertThat(client.take().text()).isEqualTo("while it is waited for");
      client.send(auth(CONTINUE, "as:alice"));
      awaitAuth(client);
    }
  }

  /** Waits for AUTH; acknowledgements may come in between. */
  private static void awaitAuth(RawClient client) {
    assertThat(client.nextIsMessage()).isFalse();
    client.expect(AUTH);
  }

  @ParameterizedTest
  @ValueSource(strings = {"no", "banned", "throw", "as:bob", "as:"})
  @Tag("MQTT-4.12.1-2")
  void aFailedReauthenticationDisconnectsAndSendsTheWill(String order) {
    try (RawClient witness = client();
        RawClient client = client()) {
      witness.connect(connect(5, true, 0, "witness of " + order, properties()));
      witness.subscribe("will/of/alice", 0);
      byte[] connect =
          connect(
              5, 0x02 | 0x04, 0, properties(method("ORDERS"), data("as:alice")), "fails", RawClient.noProperties(), "will/of/alice",
              order);
      client.send(connect);
      assertThat(client.expect(RawClient.CONNACK).at(1)).isZero();

      client.send(auth(AGAIN, order));

      client.expectDisconnect(order.equals("throw") ? 0x80 : 0x87);
      assertThat(witness.take().text()).isEqualTo(order);
    }
  }

  @Test
  @Tag("MQTT-4.12.1-1")
  void reauthenticationWithAnotherMethodIsAProtocolError() {
    try (RawClient client = alice("other method")) {
      client.send(packet(AUTH, AGAIN, properties(method("OTHER"), data("as:alice"))));
      client.expectDisconnect(0x82);
    }
  }

  @Test
  void twoReauthenticationsAtATimeAreAProtocolError() {
    try (RawClient asking = alice("two");
        RawClient waited = alice("two more")) {
      asking.send(bytes(auth(AGAIN, "wait"), auth(AGAIN, "as:alice")));
      asking.expectDisconnect(0x82);
      waited.send(auth(AGAIN, "more"));
      waited.expect(AUTH);
      waited.send(auth(AGAIN, "as:alice"));
      waited.expectDisconnect(0x82);
    }
  }

  @Test
  void anUnfinishedReauthenticationEndsTheConnection() {
    try (RawClient client = alice(new RawClient(hurried.tcpPort()), "silent")) {
      client.send(auth(AGAIN, "more"));
      client.expect(AUTH);
      client.expectDisconnect(0x87);
    }
  }

  @Test
  @Tag("MQTT-3.1.2-29")
  void authHasNoProblemInformationForAClientThatWantsNone() {
    try (RawClient client = alice("no problem information", bytes(0x17, 0))) {
      client.send(auth(AGAIN, "more"));
      assertThat(client.expect(AUTH).body()).isEqualTo(bytes(CONTINUE, properties(method("ORDERS"), data("go on"))));
      client.send(auth(CONTINUE, "no"));
      RawClient.Packet disconnect = client.expect(RawClient.DISCONNECT);
      assertThat(disconnect.reason()).isEqualTo(0x87);
      client.expectClosed();
    }
  }

  // --------------------------------------------------------------------------------------------------------------- what it touches

  @Test
  void aSessionIsNotTakenOverBeforeAuthentication() {
    try (RawClient owner = alice("mine");
        RawClient thief = client();
        RawClient again = client()) {
      thief.send(connecting("mine", "more"));
      thief.expect(AUTH);
      owner.ping();
      thief.send(auth(CONTINUE, "no"));
      expectConnack(thief, 0x87);
      owner.ping();
      again.send(connecting("mine", "as:alice"));
      assertThat(again.expect(RawClient.CONNACK).at(1)).isZero();
      owner.expectDisconnect(0x8E);
    }
  }

  @Test
  void noSessionIsOpenedForAClosedConnection() {
    int before = TestBroker.frontend(node).connectionCount();
    try (RawClient client = client()) {
      client.send(connecting("gone", "wait"));
      await().until(() -> waiting.containsKey("gone"));
    }
    await("it is noticed").atMost(TestBroker.SOON).until(() -> TestBroker.frontend(node).connectionCount() <= before);
    answer("gone").complete(new EnhancedAuthenticator.Step.Success(new byte[0], Identity.of("alice")));
    try (RawClient client = client()) {
      client.send(connect(5, 0, 0, properties(method("ORDERS"), data("as:alice")), "gone"));
      RawClient.Packet connack = client.expect(RawClient.CONNACK);
      assertThat(connack.at(0)).as("session present").isZero();
    }
  }

  private CompletableFuture<EnhancedAuthenticator.Step> answer(String clientId) {
    await("the exchange has begun").atMost(TestBroker.SOON).until(() -> waiting.containsKey(clientId));
    return Objects.requireNonNull(waiting.remove(clientId));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
