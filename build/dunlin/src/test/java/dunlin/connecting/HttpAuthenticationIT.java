package dunlin.connecting;

import static dunlin.harness.RawClient.connect;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import dunlin.harness.WebService;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.eclipse.paho.client.mqttv3.MqttClient;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that a service over HTTP lets in or not: what it sees, what its answers mean, and what happens when it does not answer as it should. */
class HttpAuthenticationIT {
  private static final int USER_AND_PASSWORD = 0xC2;

  @TempDir Path directory;
  private final ConcurrentLinkedQueue<JsonObject> asked = new ConcurrentLinkedQueue<>();
  private final WebService service = new WebService(this::judge);
  private final CountDownLatch over = new CountDownLatch(1);

  @AfterEach
  void close() {
    over.countDown();
    service.close();
  }

  /** Lets in whose password is the user name backwards. */
  private void judge(HttpExchange exchange) throws IOException {
    JsonObject question = JsonParser.parseString(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)).getAsJsonObject();
    asked.add(question);
    String user = question.has("userName") ? question.get("userName").getAsString() : "";
    boolean right = question.has("password") && new StringBuilder(user).reverse().toString().equals(question.get("password").getAsString());
    WebService.send(exchange, right ? "{\"result\":\"allow\"}" : "{\"result\":\"deny\",\"reason\":\"try backwards\"}");
  }

  private TestBroker broker(String... settings) {
    var all = new HashMap<String, String>();
    all.put("dunlin.auth.http.url", service.url("/mqtt"));
    all.put("dunlin.auth.http.cache", "0s");
    all.put("dunlin.store.fsync", "false");
    all.put("dunlin.admin.port", "0");
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    return TestBroker.on(directory.resolve("data"), all);
  }

  private static byte[] connecting(int level, String clientId, String user, String password) {
    return connect(level, USER_AND_PASSWORD, 0, RawClient.noProperties(), clientId, user, password);
  }

  private static int answer(TestBroker broker, String user, String password) {
    return answer(broker, connecting(5, UUID.randomUUID().toString(), user, password));
  }

  private static int answer(TestBroker broker, byte[] connect) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(connect);
      int code = client.expect(RawClient.CONNACK).at(1);
      if (code != 0) client.expectClosed();
      return code;
    }
  }

  private void says(String json) {
    service.answer(exchange -> WebService.send(exchange, json));
  }

  @Test
  void clientsOfAllVersionsAreLetInOrNot() throws MqttException {
    try (TestBroker broker = broker()) {
      for (int level : new int[] {3, 4, 5}) {
        assertThat(answer(broker, connecting(level, "pump", "bob", "bob"))).isZero();
        assertThat(answer(broker, connecting(level, "pump", "alice", "x"))).isEqualTo(level == 5 ? 0x86 : 4);
      }
      assertThat(answer(broker, connect(5, true, 0, "nameless", RawClient.noProperties()))).as("it is not asked about clients without credentials").isEqualTo(0x87);
      Hive.connected(broker, "hive", with -> with.simpleAuth().username("anna").password("anna".getBytes(StandardCharsets.UTF_8)).applySimpleAuth()).close();
      var options = new MqttConnectOptions();
      options.setUserName("otto");
      options.setPassword("otto".toCharArray());
      try (var paho = new MqttClient(broker.uri(), "paho", new MemoryPersistence())) {
        paho.connect(options);
        paho.disconnect();
      }
      assertThat(asked).hasSize(8);
      JsonObject first = asked.element();
      assertThat(first.get("clientId").getAsString()).isEqualTo("pump");
      assertThat(first.get("address").getAsString()).isEqualTo("127.0.0.1");
      assertThat(first.get("listener").getAsString()).isEqualTo("tcp");
      assertThat(first.get("version").getAsInt()).isEqualTo(3);
    }
  }

  @Test
  void theReasonReachesTheClient() {
    try (TestBroker broker = broker();
        RawClient client = new RawClient(broker.port())) {
      client.send(connecting(5, "pump", "alice", "x"));
      assertThat(client.expect(RawClient.CONNACK).reasonString()).isEqualTo("try backwards");
    }
  }

  @Test
  void theAnswerSaysWhoTheClientIsAndWhatItMayDo() {
    says("{\"result\":\"allow\",\"user\":\"fleet\",\"attributes\":{\"plant\":\"north\"},\"acl\":[\"deny publish %{token.plant}/secret\",\"allow publish %{token.plant}/# qos=1\",\"allow read %u/#\"]}");
    try (TestBroker broker = broker("dunlin.auth.http.acl", "true");
        RawClient client = RawClient.connected(broker.port(), connecting(5, "pump", "alice", "x"))) {
      assertThat(client.publishAndWait("north/a", "x")).isNotEqualTo(0x87);
      assertThat(client.publishAndWait("north/secret", "x")).isEqualTo(0x87);
      assertThat(client.publishAndWait("south/a", "x")).isEqualTo(0x87);
      client.subscribe("fleet/#", 1);
      says("{\"result\":\"allow\"}");
      try (RawClient without = RawClient.connected(broker.port(), connecting(5, "other", "bob", "x"))) {
        assertThat(without.publishAndWait("north/a", "x")).as("no rules, and what no rule allows is denied").isEqualTo(0x87);
      }
    }
  }

  @Test
  void tenantsShareNothing() {
    try (TestBroker broker = broker()) {
      says("{\"result\":\"allow\",\"tenant\":\"blue\"}");
      try (RawClient blue = RawClient.connected(broker.port(), connecting(5, "same", "alice", "x"))) {
        blue.subscribe("a", 1);
        says("{\"result\":\"allow\",\"tenant\":\"red\"}");
        try (RawClient red = RawClient.connected(broker.port(), connecting(5, "same", "alice", "x"))) {
          assertThat(red.publishAndWait("a", "x")).as("no subscriber in this tenant").isEqualTo(0x10);
          blue.ping();
        }
      }
      says("{\"result\":\"allow\",\"tenant\":\"a/b\"}");
      assertThat(answer(broker, "alice", "x")).isEqualTo(0x87);
    }
  }

  @Test
  void theConnectionEndsWhenTheAnswerDoes() {
    says("{\"result\":\"allow\",\"seconds\":1}");
    try (TestBroker broker = broker();
        RawClient client = RawClient.connected(broker.port(), connecting(5, "pump", "alice", "x"))) {
      client.expectDisconnect(0x87);
    }
  }

  @Test
  void usersOfTheFileAreAuthenticatedByTheBrokerAlone() throws IOException {
    Path passwords = directory.resolve("passwords");
    PasswordFile.put(passwords, "alice", "secret".getBytes(StandardCharsets.UTF_8), 4_096);
    try (TestBroker broker = broker("dunlin.auth.password-file", passwords.toString())) {
      assertThat(answer(broker, "alice", "secret")).isZero();
      assertThat(answer(broker, "alice", "ecila")).isEqualTo(0x86);
      assertThat(service.requests()).isZero();
      assertThat(answer(broker, "bob", "bob")).isZero();
      assertThat(service.requests()).isEqualTo(1);
    }
  }

  @Test
  void rememberedAnswersCostNoRequest() {
    try (TestBroker broker = broker("dunlin.auth.http.cache", "1h")) {
      for (int i = 0; i < 20; i++) assertThat(answer(broker, connecting(5, "pump", "bob", "bob"))).isZero();
      assertThat(service.requests()).isEqualTo(1);
      assertThat(answer(broker, connecting(5, "pump", "bob", "wrong"))).as("another password").isEqualTo(0x86);
      assertThat(answer(broker, connecting(5, "other", "bob", "bob"))).as("another client").isZero();
      assertThat(service.requests()).isEqualTo(3);
      for (int i = 0; i < 3; i++) assertThat(answer(broker, connecting(5, "pump", "bob", "wrong"))).as("refusals are not remembered").isEqualTo(0x86);
      assertThat(service.requests()).isEqualTo(6);

      says("{\"result\":\"allow\",\"cacheSeconds\":0}");
      for (int i = 0; i < 3; i++) assertThat(answer(broker, "eve", "x")).isZero();
      assertThat(service.requests()).isEqualTo(9);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"yes", "{}", "{\"result\":\"allow\",\"acl\":[\"allow everything\"]}", "{\"result\":\"allow\",\"user\":7}"})
  void answersThatAreWrongLetNoClientIn(String json) {
    says(json);
    try (TestBroker broker = broker("dunlin.auth.failures-max", "3")) {
      for (int i = 0; i < 5; i++) assertThat(answer(broker, "bob", "bob")).as("this is no failure of the client").isEqualTo(0x88);
      service.answer(this::judge);
      assertThat(answer(broker, "bob", "bob")).isZero();
    }
  }

  @Test
  void aServiceThatRedirectsIsNotFollowed() {
    try (var other = new WebService(exchange -> WebService.send(exchange, "{\"result\":\"allow\"}"));
        TestBroker broker = broker()) {
      service.answer(
          exchange -> {
            exchange.getResponseHeaders().add("Location", other.url("/"));
            exchange.sendResponseHeaders(307, -1);
          });
      assertThat(answer(broker, "bob", "bob")).isEqualTo(0x88);
      assertThat(other.requests()).isZero();
    }
  }

  /** Clients that need no answer are served as ever, and the others come in once the service answers. */
  @Test
  void aServiceThatNeverAnswersDelaysNoOtherClient() {
    service.answer(_ -> over.await());
    try (TestBroker broker = broker("dunlin.auth.anonymous", "true", "dunlin.auth.http.timeout", "60s", "dunlin.auth.http.requests-max", "2", "dunlin.auth.timeout", "2s")) {
      List<RawClient> waiting = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        var client = new RawClient(broker.port());
        client.send(connecting(5, "waits-" + i, "bob", "bob"));
        waiting.add(client);
      }
      for (int i = 0; i < 20; i++) assertThat(answer(broker, connect(5, true, 0, "free-" + i, RawClient.noProperties()))).isZero();
      for (RawClient client : waiting) {
        assertThat(client.expect(RawClient.CONNACK).reason()).isIn(0x80, 0x88, 0x89);
        client.close();
      }
      service.answer(this::judge);
      over.countDown();
      await().atMost(TestBroker.SOON).until(() -> answer(broker, "bob", "bob") == 0);
    }
  }

  @Test
  void guessesAtTheServiceAreCountedAgainstTheAddress() {
    try (TestBroker broker = broker("dunlin.auth.failures-max", "5")) {
      for (int i = 0; i < 5; i++) assertThat(answer(broker, "alice", "guess-" + i)).isEqualTo(0x86);
      await().atMost(TestBroker.SOON).until(() -> answer(broker, "alice", "another") == 0x8A);
      int before = service.requests();
      assertThat(answer(broker, "bob", "bob")).isEqualTo(0x8A);
      assertThat(service.requests()).isEqualTo(before);
    }
  }

  @Test
  void credentialsThatAreTooLongAreNotSent() {
    try (TestBroker broker = broker()) {
      assertThat(answer(broker, "x".repeat(4_000), "y".repeat(100))).isEqualTo(0x86);
      assertThat(service.requests()).isZero();
    }
  }

  @Test
  void settingsThatDoNotFitStopTheStart() {
    for (String url : new String[] {"http://192.0.2.1/", "ftp://127.0.0.1/", "https://user:pw@example.com/", "example.com"}) {
      assertThatThrownBy(() -> broker("dunlin.auth.http.url", url)).isInstanceOf(SettingException.class).hasMessageStartingWith("dunlin.auth.http.url: ");
    }
  }

  @Test
  void theSecretIsInTheHeaderAndItsFileIsReadAnew() throws IOException {
    var headers = new ConcurrentLinkedQueue<Optional<String>>();
    service.answer(
        exchange -> {
          headers.add(Optional.ofNullable(exchange.getRequestHeaders().getFirst("Authorization")));
          judge(exchange);
        });
    Path secret = Files.writeString(directory.resolve("secret"), "Bearer 0123456789\n");
    try (TestBroker broker = broker("dunlin.auth.http.authorization", "file:" + secret)) {
      assertThat(answer(broker, "bob", "bob")).isZero();
      Files.writeString(secret, "Bearer 9876543210\n");
      assertThat(answer(broker, "bob", "bob")).isZero();
      assertThat(headers).containsExactly(Optional.of("Bearer 0123456789"), Optional.of("Bearer 9876543210"));
    }
  }
}
