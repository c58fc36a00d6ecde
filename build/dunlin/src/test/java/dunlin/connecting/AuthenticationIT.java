package dunlin.connecting;

import static dunlin.harness.RawClient.connect;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttUtf8String;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5ClientConfig;
import com.hivemq.client.mqtt.mqtt5.auth.Mqtt5EnhancedAuthMechanism;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5ConnAckException;
import com.hivemq.client.mqtt.mqtt5.message.auth.Mqtt5Auth;
import com.hivemq.client.mqtt.mqtt5.message.auth.Mqtt5AuthBuilder;
import com.hivemq.client.mqtt.mqtt5.message.auth.Mqtt5EnhancedAuthBuilder;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5Connect;
import com.hivemq.client.mqtt.mqtt5.message.connect.connack.Mqtt5ConnAck;
import com.hivemq.client.mqtt.mqtt5.message.connect.connack.Mqtt5ConnAckReasonCode;
import com.hivemq.client.mqtt.mqtt5.message.disconnect.Mqtt5Disconnect;
import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.auth.Authenticator;
import dunlin.broker.auth.Claims;
import dunlin.broker.auth.Identity;
import dunlin.broker.auth.PasswordFile;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.harness.ScramClient;
import dunlin.model.ReasonCode;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which clients are accepted and which refused: with a password, with SCRAM-SHA-256, with an authenticator of the application. */
class AuthenticationIT {
  private static final int USER_AND_PASSWORD = 0xC0;

  @TempDir Path directory;

  private Path passwords(String... usersAndPasswords) throws IOException {
    Path file = directory.resolve("passwords");
    for (int i = 0; i < usersAndPasswords.length; i += 2) {
      PasswordFile.put(file, usersAndPasswords[i], usersAndPasswords[i + 1].getBytes(StandardCharsets.UTF_8), 4_096);
    }
    return file;
  }

  private TestBroker broker(Path passwords) {
    return TestBroker.on(directory.resolve("data"), Map.of("dunlin.auth.password-file", passwords.toString()));
  }

  private static Dunlin node(Authenticator authenticator, Map<String, String> settings) {
    var builder = Dunlin.builder().inMemory().tcpPort(0).authenticator(authenticator);
    settings.forEach(builder::set);
    return builder.build();
  }

  /** The reason code or return code of the CONNACK to a CONNECT with user name and password; then the connection is closed. */
  private static int answer(int port, int level, String clientId, String user, String password) {
    byte[] connect =
        connect(level, 0x02 | USER_AND_PASSWORD, 0, RawClient.noProperties(), clientId, user, password);
    return answer(port, connect);
  }

  private static int answer(int port, byte[] connect) {
    try (RawClient client = new RawClient(port)) {
      client.send(connect);
      int code = client.expect(RawClient.CONNACK).at(1);
      if (code != 0) client.expectClosed();
      return code;
    }
  }

  @ParameterizedTest
  @CsvSource({"3,4,5", "4,4,5", "5,0x86,0x87"})
  void onlyTheRightPasswordGetsIn(int level, String wrong, String nothing) throws IOException {
    try (var broker = broker(passwords("alice", "one", "bob", "p\u00E4ss"))) {
      int port = broker.port();
      int wrongCode = Integer.decode(wrong);
      assertThat(answer(port, level, "c", "alice", "one")).isZero();
      assertThat(answer(port, level, "bob's", "bob", "pa\u0308ss")).isZero();
      assertThat(answer(port, level, "c", "alice", "two")).isEqualTo(wrongCode);
      assertThat(answer(port, level, "c", "alice", "")).isEqualTo(wrongCode);
      assertThat(answer(port, level, "c", "mallory", "one")).isEqualTo(wrongCode);
      assertThat(answer(port, connect(level, 0x82, 0, RawClient.noProperties(), "c", "alice"))).isEqualTo(wrongCode);
      assertThat(answer(port, connect(level, true, 0, "c", RawClient.noProperties()))).isEqualTo(Integer.decode(nothing));
    }
  }

  /** MQTT 5 allows a password without a user name, for tokens; a password file cannot check it. */
  @Test
  void aPasswordAloneIsNotEnough() throws IOException {
    try (var broker = broker(passwords("alice", "one"))) {
      assertThat(answer(broker.port(), connect(5, 0x42, 0, RawClient.noProperties(), "c", "one"))).isEqualTo(0x86);
    }
  }

  @Test
  void anonymousClientsAreAcceptedWhereTheSettingAllowsThem() throws IOException {
    var settings = Map.of("dunlin.auth.password-file", passwords("alice", "one").toString(), "dunlin.auth.anonymous", "true");
    try (var broker = TestBroker.on(directory.resolve("data"), settings)) {
      assertThat(answer(broker.port(), connect(5, true, 0, "c", RawClient.noProperties()))).isZero();
      assertThat(answer(broker.port(), 5, "c", "alice", "two")).isEqualTo(0x86);
    }
  }

  // ------------------------------------------------------------------------------------------------------------ SCRAM-SHA-256

  @Test
  @Tag("MQTT-4.12.1-1")
  void hiveMqsClientAuthenticatesAndReauthenticatesWithScram() throws IOException {
    try (var broker = broker(passwords("alice", "one"))) {
      var mechanism = new Scram("alice", "one");
      Mqtt5AsyncClient client = hive(broker, mechanism);
      Mqtt5ConnAck connack = client.connect().join();
      assertThat(connack.getEnhancedAuth()).hasValueSatisfying(each -> assertThat(each.getMethod()).hasToString(ScramClient.METHOD));
      assertThat(mechanism.serverProven).isTrue();

      mechanism.serverProven = false;
      client.reauth().join();
      assertThat(mechanism.serverProven).isTrue();
      client.disconnect().join();
    }
  }

  @ParameterizedTest
  @CsvSource({"alice,two", "mallory,one"})
  void hiveMqsClientIsRefusedWithAWrongPassword(String user, String password) throws IOException {
    try (var broker = broker(passwords("alice", "one"))) {
      Mqtt5AsyncClient client = hive(broker, new Scram(user, password));

      assertThatThrownBy(() -> client.connect().join())
          .hasCauseInstanceOf(Mqtt5ConnAckException.class)
          .cause()
          .satisfies(
              refused ->
                  assertThat(((Mqtt5ConnAckException) refused).getMqttMessage().getReasonCode())
                      .isEqualTo(Mqtt5ConnAckReasonCode.NOT_AUTHORIZED));
    }
  }

  @Test
  @Tag("MQTT-4.12.1-2")
  void aUserRemovedFromTheFileCannotReauthenticate() throws IOException {
    Path file = passwords("alice", "one", "bob", "two");
    try (var broker = broker(file)) {
      Mqtt5AsyncClient client = hive(broker, new Scram("alice", "one"));
      client.connect().join();
      assertThat(PasswordFile.delete(file, "alice")).isTrue();
      await("the file is read again").atMost(TestBroker.SOON).until(() -> answer(broker.port(), 5, "c", "alice", "one") == 0x86);

      assertThatThrownBy(() -> client.reauth().join()).isNotNull();
      await().atMost(TestBroker.SOON).until(() -> !client.getState().isConnected());
      assertThat(answer(broker.port(), 5, "c", "bob", "two")).isZero();
    }
  }

  private static Mqtt5AsyncClient hive(TestBroker broker, Mqtt5EnhancedAuthMechanism mechanism) {
    return MqttClient.builder()
        .useMqttVersion5()
        .identifier("hive")
        .serverHost("127.0.0.1")
        .serverPort(broker.port())
        .enhancedAuth(mechanism)
        .buildAsync();
  }

  /** SCRAM-SHA-256 for HiveMQ's client. */
  private static final class Scram implements Mqtt5EnhancedAuthMechanism {
    private final String user;
    private final String password;
    private ScramClient scram = new ScramClient("", "");
    private volatile boolean serverProven;

    Scram(String user, String password) {
      this.user = user;
      this.password = password;
    }

    @Override
    public MqttUtf8String getMethod() {
      return MqttUtf8String.of(ScramClient.METHOD);
    }

    @Override
    public int getTimeout() {
      return 20;
    }

    @Override
    public CompletableFuture<Void> onAuth(Mqtt5ClientConfig config, Mqtt5Connect connect, Mqtt5EnhancedAuthBuilder builder) {
      scram = new ScramClient(user, password);
      builder.data(scram.first());
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Void> onReAuth(Mqtt5ClientConfig config, Mqtt5AuthBuilder builder) {
      scram = new ScramClient(user, password);
      builder.data(scram.first());
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Boolean> onContinue(Mqtt5ClientConfig config, Mqtt5Auth auth, Mqtt5AuthBuilder builder) {
      builder.data(scram.last(data(auth.getData())));
      return CompletableFuture.completedFuture(true);
    }

    @Override
    public CompletableFuture<Boolean> onAuthSuccess(Mqtt5ClientConfig config, Mqtt5ConnAck connack) {
      return proven(connack.getEnhancedAuth().flatMap(each -> each.getData()));
    }

    @Override
    public CompletableFuture<Boolean> onReAuthSuccess(Mqtt5ClientConfig config, Mqtt5Auth auth) {
      return proven(auth.getData());
    }

    private CompletableFuture<Boolean> proven(Optional<ByteBuffer> data) {
      serverProven = scram.provesServer(data(data));
      return CompletableFuture.completedFuture(serverProven);
    }

    private static byte[] data(Optional<ByteBuffer> data) {
      ByteBuffer buffer = data.orElseThrow();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return bytes;
    }

    @Override
    public void onAuthRejected(Mqtt5ClientConfig config, Mqtt5ConnAck connack) {}

    @Override
    public void onReAuthRejected(Mqtt5ClientConfig config, Mqtt5Disconnect disconnect) {}

    @Override
    public void onAuthError(Mqtt5ClientConfig config, Throwable cause) {}

    @Override
    public void onReAuthError(Mqtt5ClientConfig config, Throwable cause) {}
  }

  // ------------------------------------------------------------------------------------------------------- the password file

  @Test
  void aPasswordFileThatIsWrongStopsTheStartAndLeavesNothingBehind() throws IOException {
    Path file = passwords("alice", "one");
    Files.writeString(file, Files.readString(file) + "bob:hunter2\n");

    assertThatThrownBy(() -> broker(file))
        .isInstanceOf(SettingException.class)
        .hasMessageContainingAll("dunlin.auth.password-file", file.toString(), "line 3")
        .hasMessageNotContaining("hunter2");
    assertThat(directory.resolve("data")).doesNotExist();
  }

  @Test
  void anEmptyPasswordFileRefusesAllClients() throws IOException {
    try (var broker = broker(Files.createFile(directory.resolve("empty")))) {
      assertThat(answer(broker.port(), 5, "c", "alice", "")).isEqualTo(0x86);
      assertThat(answer(broker.port(), connect(5, true, 0, "c", RawClient.noProperties()))).isEqualTo(0x87);
    }
  }

  @Test
  void thePasswdCommandWritesAFileThatTheBrokerReads() throws Exception {
    Path file = directory.resolve("made");

    assertThat(passwd("one\n", file.toString(), "alice")).isEqualTo("0 ");
    assertThat(passwd("two", file.toString(), "bob")).isEqualTo("0 ");
    assertThat(passwd("", file.toString(), "carol")).startsWith("1 dunlin passwd: ").contains("empty");
    try (var broker = broker(file)) {
      assertThat(answer(broker.port(), 4, "c", "alice", "one")).isZero();
      assertThat(answer(broker.port(), 4, "bob's", "bob", "two")).isZero();
      assertThat(answer(broker.port(), 4, "c", "carol", "")).isEqualTo(4);

      assertThat(passwd("three\r\n", file.toString(), "alice")).isEqualTo("0 ");
      assertThat(passwd("", "-d", file.toString(), "bob")).isEqualTo("0 ");
      assertThat(passwd("", "-d", file.toString(), "bob")).startsWith("1 ").contains("no such user");
      await("the file is read again").atMost(TestBroker.SOON).until(() -> answer(broker.port(), 4, "c", "alice", "three") == 0);
      assertThat(answer(broker.port(), 4, "c", "alice", "one")).isEqualTo(4);
      assertThat(answer(broker.port(), 4, "c", "bob", "two")).isEqualTo(4);
    }
    assertThat(passwd("", "only one word")).startsWith("2 Usage: ");
    assertThat(passwd("one\n", directory.resolve("missing/file").toString(), "alice")).startsWith("1 ").contains("missing");
  }

  /** Exit code and standard error of the shipped command. */
  private static String passwd(String in, String... arguments) throws IOException, InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("dist.directory"), "bin", "dunlin").toString());
    command.add("passwd");
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    try (var out = process.getOutputStream()) {
      out.write(in.getBytes(StandardCharsets.UTF_8));
    } catch (IOException _) {
      // It did not read a password.
    }
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    return process.exitValue() + " " + said;
  }

  // ---------------------------------------------------------------------------------------------- authenticators of the application

  /** Refuses with the reason that the user name names. */
  private static CompletionStage<Decision> asNamed(Authenticator.Credentials credentials) {
    String name = credentials.userName().orElse("");
    if (name.equals("throw")) throw new IllegalStateException("ordered to");
    if (name.equals("fail")) return CompletableFuture.failedFuture(new AssertionError("ordered to"));
    if (name.equals("hang")) return new CompletableFuture<>();
    if (name.contains("@")) {
      String tenant = name.substring(name.indexOf('@') + 1);
      return CompletableFuture.completedFuture(new Decision.Accepted(new Identity(tenant, name)));
    }
    return CompletableFuture.completedFuture(new Decision.Refused(ReasonCode.valueOf(name), "ordered to"));
  }

  @ParameterizedTest
  @CsvSource({
    "CLIENT_IDENTIFIER_NOT_VALID,0x85,2", "SERVER_UNAVAILABLE,0x88,3", "SERVER_BUSY,0x89,3", "QUOTA_EXCEEDED,0x97,3",
    "BAD_USER_NAME_OR_PASSWORD,0x86,4", "NOT_AUTHORIZED,0x87,5", "BANNED,0x8A,5", "throw,0x80,3", "fail,0x80,3", "hang,0x88,3",
  })
  void everyRefusalHasItsCodeInEachVersion(String user, String code, int returnCode) {
    try (Dunlin node = node(AuthenticationIT::asNamed, Map.of("dunlin.auth.timeout", user.equals("hang") ? "500ms" : "1m"))) {
      assertThat(answer(node.tcpPort(), 5, "c", user, "")).isEqualTo(Integer.decode(code));
      assertThat(answer(node.tcpPort(), 4, "c", user, "")).isEqualTo(returnCode);
      assertThat(answer(node.tcpPort(), 3, "c", user, "")).isEqualTo(returnCode);
    }
  }

  @Test
  void whatAnAuthenticatorSaysBesideTheUserIsKept() {
    Authenticator claiming =
        _ ->
            CompletableFuture.completedFuture(
                new Decision.Accepted(
                    Identity.of("u"),
                    new Claims(
                        Optional.of(Instant.now().plusSeconds(6)),
                        Map.of("site", "north"),
                        List.of(AccessRule.of(true, Set.of(AccessAction.PUBLISH), "sites/%{token.site}")))));
    try (Dunlin node = node(claiming, Map.of());
        RawClient client = new RawClient(node.tcpPort())) {
      client.connect(connect(5, 0x82, 0, RawClient.noProperties(), "c", "u"));
      assertThat(client.publishAndWait("sites/north", "")).isLessThan(0x80);
      assertThat(client.publishAndWait("sites/south", "")).isEqualTo(0x87);
      client.expectDisconnect(0x87);
    }
  }

  @Test
  void clientsOfTwoTenantsDoNotMeet() {
    try (Dunlin node = node(AuthenticationIT::asNamed, Map.of());
        RawClient one = new RawClient(node.tcpPort());
        RawClient two = new RawClient(node.tcpPort())) {
      one.connect(connect(5, 0x82, 0, RawClient.noProperties(), "same", "u@one"));
      two.connect(connect(5, 0x82, 0, RawClient.noProperties(), "same", "u@two"));
      one.subscribe("#", 1);
      two.subscribe("#", 1);
      two.publish("topic", 1, 1, "of two");
      one.publish("topic", 1, 1, "of one");

      assertThat(two.take().text()).isEqualTo("of two");
      assertThat(one.take().text()).isEqualTo("of one");
    }
  }

  @Test
  void anAuthenticatorThatBlocksDelaysNoOtherClient() throws InterruptedException {
    var entered = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    Authenticator blocking =
        credentials -> {
          if (credentials.userName().orElse("").equals("slow")) {
            entered.countDown();
            awaitUninterruptibly(release);
          }
          return CompletableFuture.completedFuture(new Decision.Accepted(Identity.of("u")));
        };
    Map<String, String> settings =
        Map.of("dunlin.lanes", "1", "dunlin.auth.threads", "1", "dunlin.auth.queue-max", "1", "dunlin.auth.anonymous", "true");
    try (Dunlin node = node(blocking, settings);
        RawClient connected = new RawClient(node.tcpPort());
        RawClient slow = new RawClient(node.tcpPort());
        RawClient queued = new RawClient(node.tcpPort())) {
      connected.connect(connect(5, true, 0, "connected", RawClient.noProperties()));
      slow.send(connect(5, 0x82, 0, RawClient.noProperties(), "slow", "slow"));
      assertThat(entered.await(60, TimeUnit.SECONDS)).isTrue();
      queued.send(connect(5, 0x82, 0, RawClient.noProperties(), "queued", "quick"));
      connected.ping();
      // The only place in the queue is used, on the same loop, before these come.
      assertThat(answer(node.tcpPort(), 5, "c", "quick", "")).isEqualTo(0x89);
      assertThat(answer(node.tcpPort(), 4, "c", "quick", "")).isEqualTo(3);
      connected.ping();
      release.countDown();
      assertThat(slow.expect(RawClient.CONNACK).at(1)).isZero();
      assertThat(queued.expect(RawClient.CONNACK).at(1)).isZero();
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aWrongPasswordTakesNoSessionOver() throws IOException {
    try (var broker = broker(passwords("alice", "one"));
        RawClient owner = new RawClient(broker.port())) {
      owner.connect(connect(5, 0xC2, 0, RawClient.noProperties(), "mine", "alice", "one"));

      assertThat(answer(broker.port(), 5, "mine", "alice", "two")).isEqualTo(0x86);
      owner.ping();
      assertThat(answer(broker.port(), 5, "mine", "alice", "one")).isZero();
      owner.expectDisconnect(0x8E);
    }
  }

  @Test
  void aReturningClientIsAcceptedWithoutCheckingThePasswordAgain() throws Exception {
    Path file = passwords("alice", "one");
    try (var broker =
        TestBroker.on(directory.resolve("data"), Map.of("dunlin.auth.password-file", file.toString(), "dunlin.admin.port", "0"))) {
      int port = broker.port();
      assertThat(answer(port, 5, "c", "alice", "one")).isZero();
      assertThat(metrics(broker)).containsPattern("dunlin_auth_passwords_known_total\\{[^}]*} 0");

      assertThat(answer(port, 5, "c", "alice", "one")).isZero();
      assertThat(answer(port, 4, "c", "alice", "one")).isZero();
      assertThat(answer(port, 5, "c", "alice", "two")).isEqualTo(0x86);

      assertThat(metrics(broker)).containsPattern("dunlin_auth_passwords_known_total\\{[^}]*} 2");
      passwords("alice", "two");
      await("the file is read again").atMost(TestBroker.SOON).until(() -> answer(port, 5, "c", "alice", "one") == 0x86);
      assertThat(answer(port, 5, "c", "alice", "two")).isZero();
    }
  }

  @Test
  void thePasswordIsOverwrittenOnceItIsDecidedOn() {
    var seen = new CompletableFuture<byte[]>();
    Authenticator keeping =
        credentials -> {
          seen.complete(credentials.password().orElseThrow());
          return CompletableFuture.completedFuture(new Decision.Accepted(Identity.of("u")));
        };
    try (Dunlin node = node(keeping, Map.of())) {
      assertThat(answer(node.tcpPort(), 5, "c", "u", "secret")).isZero();
      assertThat(seen.join()).containsOnly(0).hasSize(6);
    }
  }

  // ------------------------------------------------------------------------------------------------------------- guessing

  @Test
  void anAddressThatGuessesIsBlocked() throws Exception {
    Path file = passwords("alice", "one");
    Map<String, String> settings =
        Map.of("dunlin.auth.password-file", file.toString(), "dunlin.auth.failures-max", "3", "dunlin.admin.port", "0");
    try (var events = LoggedLines.ofAudit();
        var broker = TestBroker.on(directory.resolve("data"), settings)) {
      int port = broker.port();
      assertThat(answer(port, 5, "c", "alice", "one")).as("known again from here on, which must not help to guess").isZero();
      for (int i = 0; i < 3; i++) assertThat(answer(port, 5, "c", "alice", "guess\u202E" + i)).isEqualTo(0x86);
      assertThat(answer(port, 5, "c", "alice", "one")).as("also the right one").isEqualTo(0x8A);
      assertThat(answer(port, 4, "c", "alice", "one")).isEqualTo(5);
      assertThat(answer(port, connect(5, true, 0, "c", RawClient.noProperties()))).isEqualTo(0x8A);

      String metrics = metrics(broker);
      assertThat(metrics).containsPattern("dunlin_auth_decisions_total\\{[^}]*result=\"refused\"} 3");
      assertThat(metrics).containsPattern("dunlin_auth_decisions_total\\{[^}]*result=\"limited\"} 3");
      assertThat(metrics).containsPattern("dunlin_auth_blocks\\{[^}]*kind=\"address\"[^}]*} 1");
      assertThat(events.all()).filteredOn(line -> line.contains("event=address-blocked")).hasSize(1);
      List<String> refused = events.all().stream().filter(line -> line.contains("event=authentication-refused")).toList();
      assertThat(refused).hasSize(3);
      assertThat(refused.stream().map(line -> line.contains("last=true"))).containsExactly(false, false, true);
      assertThat(refused.getLast()).contains("bad-user-name-or-password", "/127.0.0.1:", "user=\"alice\"");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mallory\u202E", "mallory\u2028second line"})
  void textsOfAClientAreEscapedInTheEvent(String user) throws IOException {
    try (var events = LoggedLines.ofAudit();
        var broker = broker(passwords("alice", "one"))) {
      assertThat(answer(broker.port(), 5, "c", user, "x")).isEqualTo(0x86);

      assertThat(events.all()).singleElement().asString().contains("mallory\\u202").doesNotContain(user);
    }
  }

  @Test
  void noPasswordIsEverLogged() throws IOException {
    try (var everything = new LoggedLines("dunlin", Level.TRACE);
        var broker = broker(passwords("alice", "Correct horse"))) {
      assertThat(answer(broker.port(), 5, "c", "alice", "Correct horse")).isZero();
      assertThat(answer(broker.port(), 4, "c", "alice", "battery staple")).isEqualTo(4);
      var scram = new Scram("alice", "battery staple");
      assertThatThrownBy(() -> hive(broker, scram).connect().join()).isNotNull();

      assertThat(everything.all()).isNotEmpty().noneMatch(line -> line.contains("horse") || line.contains("staple") || line.contains("p="));
    }
  }

  @Test
  void aTokenThatIsTheUserNameIsNotLogged() throws IOException {
    Path secret = Files.writeString(directory.resolve("secret"), "0123456789abcdef0123456789abcdef");
    Map<String, String> settings =
        Map.of("dunlin.auth.jwt.algorithms", "hs256", "dunlin.auth.jwt.secret-file", secret.toString(), "dunlin.auth.jwt.token-in", "user-name");
    try (var everything = new LoggedLines("dunlin", Level.TRACE);
        var events = LoggedLines.ofAudit();
        var broker = TestBroker.on(directory.resolve("data"), settings)) {
      assertThat(answer(broker.port(), connect(5, 0x82, 0, RawClient.noProperties(), "c", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2VjcmV0"))).isEqualTo(0x87);

      assertThat(events.all()).singleElement().asString().contains("event=authentication-refused", "user=\"\"");
      assertThat(everything.all()).isNotEmpty().noneMatch(line -> line.contains("c2VjcmV0"));
    }
  }

  private static String metrics(TestBroker broker) throws IOException, InterruptedException {
    try (HttpClient http = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + broker.node().adminPort() + "/metrics")).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
  }
}
