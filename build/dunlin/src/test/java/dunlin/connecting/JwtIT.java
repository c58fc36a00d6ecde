package dunlin.connecting;

import static dunlin.harness.RawClient.bytes;
import static dunlin.harness.RawClient.connect;
import static dunlin.harness.RawClient.packet;
import static dunlin.harness.RawClient.properties;
import static dunlin.harness.RawClient.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5ConnAckException;
import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.harness.Hive;
import dunlin.harness.IdentityProvider;
import dunlin.harness.RawClient;
import dunlin.harness.RuledBroker;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
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

/** Clients with JSON Web Tokens: who is let in, what they may do, when they have to leave, and what becomes of it when keys cannot be had. */
class JwtIT {
  private static final String METHOD = "OAUTH2-JWT";
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir Path directory;
  private final IdentityProvider provider = new IdentityProvider();

  @AfterEach
  void close() {
    provider.close();
  }

  /** A broker that has fetched the provider's keys. */
  private TestBroker broker(String... settings) {
    TestBroker broker = starting(settings);
    await("the keys are fetched").atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.token("u", LONG)) != 0x88);
    return broker;
  }

  private TestBroker starting(String... settings) {
    var all = new HashMap<String, String>();
    all.put("dunlin.auth.jwt.jwks-url", provider.url());
    all.put("dunlin.auth.jwt.algorithms", "es256");
    all.put("dunlin.auth.jwt.audience", "mqtt");
    all.put("dunlin.auth.jwt.clock-skew", "0s");
    all.put("dunlin.auth.jwt.jwks-interval-min", "1s");
    all.put("dunlin.store.fsync", "false");
    all.put("dunlin.admin.port", "0");
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    all.values().removeIf(String::isEmpty);
    return TestBroker.on(directory.resolve("data"), all);
  }

  private static byte[] connecting(int level, String clientId, String password) {
    return connect(level, 0xC2, 0, RawClient.noProperties(), clientId, "name", password);
  }

  /** The reason or return code of CONNACK to a client with a token as its password. */
  private static int answer(TestBroker broker, int level, String token) {
    return answer(broker, connecting(level, UUID.randomUUID().toString(), token));
  }

  private static int answer(TestBroker broker, byte[] connect) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(connect);
      int code = client.expect(RawClient.CONNACK).at(1);
      if (code != 0) client.expectClosed();
      return code;
    }
  }

  private static String part(String json) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(json.getBytes(StandardCharsets.UTF_8));
  }

  // ------------------------------------------------------------------------------------------------------------------ who is let in

  @Test
  void clientsOfAllVersionsAreLetInWithAToken() throws MqttException {
    try (TestBroker broker = broker()) {
      for (int level : new int[] {3, 4, 5}) assertThat(answer(broker, level, provider.token("alice", LONG))).isZero();

      var options = new MqttConnectOptions();
      options.setUserName("ignored");
      options.setPassword(provider.token("alice", LONG).toCharArray());
      try (var paho = new MqttClient(broker.uri(), "paho", new MemoryPersistence())) {
        paho.connect(options);
        paho.disconnect();
        options.setPassword(provider.forged("alice").toCharArray());
        assertThatThrownBy(() -> paho.connect(options)).isInstanceOfSatisfying(MqttException.class, e -> assertThat(e.getReasonCode()).isEqualTo(5));
      }
      try (RawClient client = new RawClient(broker.port())) {
        client.connect(connecting(5, "for long", provider.token("alice", Duration.ofDays(2_500_000))));
        client.ping();
      }
      Hive.connected(broker, "hive", with -> with.simpleAuth().password(provider.token("alice", LONG).getBytes(StandardCharsets.UTF_8)).applySimpleAuth()).close();
      assertThatThrownBy(
              () -> Hive.connected(broker, "hive", with -> with.simpleAuth().password(provider.forged("a").getBytes(StandardCharsets.UTF_8)).applySimpleAuth()))
          .hasCauseInstanceOf(Mqtt5ConnAckException.class);
    }
  }

  @Test
  void tokensThatAreWrongInAnyWayAreRefused() {
    String claims = "{\"sub\":\"alice\",\"aud\":\"mqtt\",\"exp\":%d}".formatted(Instant.now().getEpochSecond() + 600);
    String good = provider.token("alice", LONG);
    String[] parts = good.split("\\.", -1);
    Map<String, String> wrong =
        Map.ofEntries(
            Map.entry("none", part("{\"alg\":\"none\"}") + '.' + part(claims) + '.'),
            Map.entry("another algorithm", part("{\"alg\":\"HS256\",\"kid\":\"key-1\"}") + '.' + part(claims) + '.' + parts[2]),
            Map.entry("a key of somebody else", provider.forged("alice")),
            Map.entry("no signature", parts[0] + '.' + parts[1] + '.'),
            Map.entry("other claims", parts[0] + '.' + part(claims) + '.' + parts[2]),
            Map.entry("expired", provider.token("alice", Duration.ofSeconds(-5))),
            Map.entry("not yet valid", provider.token("alice", LONG, more -> more.notBeforeTime(Date.from(Instant.now().plusSeconds(300))))),
            Map.entry("from the future", provider.token("alice", LONG, more -> more.issueTime(Date.from(Instant.now().plusSeconds(300))))),
            Map.entry("another audience", provider.token("alice", LONG, more -> more.audience("web"))),
            Map.entry("another issuer", provider.token("alice", LONG, more -> more.issuer("https://other"))),
            Map.entry("no user", provider.token("alice", LONG, more -> more.subject(null))),
            Map.entry("no end", provider.token("alice", LONG, more -> more.expirationTime(null))),
            Map.entry("garbage", "eyJ.eyJ.eyJ"),
            Map.entry("huge", "eyJ" + "a".repeat(60_000) + ".a.a"),
            Map.entry("a password", "secret"));
    try (TestBroker broker = broker("dunlin.auth.jwt.issuer", "https://id", "dunlin.auth.failures-max", "0")) {
      assertThat(answer(broker, 5, provider.token("alice", LONG, more -> more.issuer("https://id")))).isZero();
      wrong.forEach((what, token) -> assertThat(answer(broker, 5, token)).as(what).isEqualTo(0x87));
      wrong.forEach((what, token) -> assertThat(answer(broker, 4, token)).as(what).isEqualTo(5));
    }
  }

  @Test
  void whatLooksLikeATokenIsNoPasswordAndTheOtherWayRound() throws IOException {
    Path passwords = directory.resolve("passwords");
    PasswordFile.put(passwords, "name", "secret".getBytes(StandardCharsets.UTF_8), 4_096);
    try (TestBroker broker = broker("dunlin.auth.password-file", passwords.toString())) {
      assertThat(answer(broker, 5, provider.token("alice", LONG))).isZero();
      assertThat(answer(broker, 5, "secret")).isZero();
      assertThat(answer(broker, 5, "wrong")).isEqualTo(0x86);
      assertThat(answer(broker, 5, provider.forged("name"))).isEqualTo(0x87);
      assertThat(answer(broker, connect(5, true, 0, "c", RawClient.noProperties()))).isEqualTo(0x87);
    }
  }

  @Test
  void aTokenMayBeTheUserName() {
    try (TestBroker broker = starting("dunlin.auth.jwt.token-in", "user-name")) {
      await().atMost(TestBroker.SOON).until(() -> answer(broker, connect(4, 0x82, 0, RawClient.noProperties(), "c", provider.token("alice", LONG))) == 0);
      assertThat(answer(broker, connect(4, 0xC2, 0, RawClient.noProperties(), "c", provider.token("alice", LONG), "x"))).isZero();
      assertThat(answer(broker, connect(4, 0xC2, 0, RawClient.noProperties(), "c", "alice", provider.token("alice", LONG)))).isEqualTo(5);
    }
  }

  @Test
  void aTokenMayBeForOneUserNameAndOneClientIdentifier() {
    try (TestBroker broker = broker("dunlin.auth.jwt.match-user-name", "true", "dunlin.auth.jwt.client-id-claim", "device")) {
      String token = provider.token("name", LONG, more -> more.claim("device", List.of("d1", "+")));
      assertThat(answer(broker, connecting(5, "d1", token))).isZero();
      assertThat(answer(broker, connecting(5, "+", token))).isZero();
      assertThat(answer(broker, connecting(5, "d2", token))).as("+ stands for itself alone").isEqualTo(0x85);
      assertThat(answer(broker, connecting(5, "", token))).isEqualTo(0x85);
      assertThat(answer(broker, connecting(4, "d2", token))).isEqualTo(2);
      assertThat(answer(broker, connecting(5, "d1", provider.token("name", LONG)))).as("no claim").isEqualTo(0x87);
      assertThat(answer(broker, connecting(5, "d1", provider.token("other", LONG, more -> more.claim("device", "d1"))))).isEqualTo(0x87);
    }
  }

  @Test
  void aTokenMaySayWhichTenant() {
    try (TestBroker broker = broker("dunlin.auth.jwt.tenant-claim", "org");
        RawClient one = new RawClient(broker.port());
        RawClient two = new RawClient(broker.port())) {
      one.connect(connecting(5, "same", provider.token("u", LONG, more -> more.claim("org", "one"))));
      two.connect(connecting(5, "same", provider.token("u", LONG, more -> more.claim("org", "two"))));
      one.ping();
      for (String invalid : new String[] {"", "a/b", "x".repeat(65), "\u0000"}) {
        assertThat(answer(broker, 5, provider.token("u", LONG, more -> more.claim("org", invalid)))).as(invalid).isEqualTo(0x87);
      }
    }
  }

  // ------------------------------------------------------------------------------------------------------------------ what they may do

  private TestBroker ruled(String... settings) {
    String[] all = Arrays.copyOf(settings, settings.length + 4);
    all[settings.length] = "dunlin.auth.jwt.acl-claim";
    all[settings.length + 1] = "acl";
    all[settings.length + 2] = "dunlin.auth.jwt.attribute-claims";
    all[settings.length + 3] = "site";
    return broker(all);
  }

  private RawClient connected(TestBroker broker, String clientId, String user, String... rules) {
    return RawClient.connected(broker.port(), connecting(5, clientId, provider.token(user, LONG, more -> more.claim("acl", List.of(rules)))));
  }

  @Test
  void rulesOfTheTokenSayWhatItsClientMayDo() {
    try (TestBroker broker = ruled();
        RawClient client = connected(broker, "c1", "u1", "deny publish up/%c/secret", "allow publish up/%c/#", "allow read down/%u");
        RawClient nothing = RawClient.connected(broker.port(), connecting(5, "c2", provider.token("u2", LONG)))) {
      assertThat(client.publishAndWait("up/c1/x", "")).isLessThan(0x80);
      assertThat(client.publishAndWait("up/c1/secret", "")).isEqualTo(0x87);
      assertThat(client.publishAndWait("up/c2/x", "")).isEqualTo(0x87);
      client.subscribe("down/u1", 1);
      assertThat(subscribed(client, "down/+")).isEqualTo(0x87);
      assertThat(nothing.publishAndWait("up/c2/x", "")).as("no rule allows it").isEqualTo(0x87);
      assertThat(subscribed(nothing, "down/u2")).isEqualTo(0x87);
    }
  }

  private static int subscribed(RawClient client, String filter) {
    client.send(RawClient.SUBSCRIBE, u16(77), properties(), filter, 0);
    return client.next(RawClient.SUBACK).reason();
  }

  @Test
  void rulesOfTheFileStandInFrontAndAreFollowed() throws IOException {
    Path acl = Files.writeString(directory.resolve("acl"), "deny everyone publish up/secret\nallow everyone publish sites/%{token.site}\n");
    try (TestBroker broker = ruled("dunlin.auth.acl-file", acl.toString());
        RawClient client =
            RawClient.connected(
                broker.port(), connecting(5, "c", provider.token("u", LONG, more -> more.claim("acl", List.of("allow publish up/#")).claim("site", "north"))))) {
      assertThat(client.publishAndWait("up/secret", "")).isEqualTo(0x87);
      assertThat(client.publishAndWait("up/x", "")).isLessThan(0x80);
      assertThat(client.publishAndWait("sites/north", "")).isLessThan(0x80);
      assertThat(client.publishAndWait("sites/south", "")).isEqualTo(0x87);

      Files.writeString(directory.resolve("acl.new"), "deny everyone publish up/x\n");
      Files.move(directory.resolve("acl.new"), acl, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      await().atMost(TestBroker.SOON).until(() -> client.publishAndWait("up/x", "") == 0x87);
      assertThat(client.publishAndWait("up/y", "")).as("the rules of the token stay").isLessThan(0x80);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"+", "#", "a/b"})
  void whatATokenCallsItsClientIsNeverAWildcard(String name) {
    try (TestBroker broker = ruled("dunlin.auth.jwt.client-id-claim", "device");
        RawClient client =
            RawClient.connected(
                broker.port(),
                connecting(
                    5, name,
                    provider.token(
                        name, LONG,
                        more -> more.claim("device", name).claim("site", name).claim("acl", List.of("allow all u/%u/#", "allow all c/%c/#", "allow all s/%{token.site}/#")))))) {
      for (String root : new String[] {"u/", "c/", "s/"}) {
        assertThat(client.publishAndWait(root + "x", "")).isEqualTo(0x87);
        assertThat(client.publishAndWait(root + "a/b/c", "")).isEqualTo(0x87);
        assertThat(subscribed(client, root + "+/#")).isEqualTo(0x87);
        assertThat(subscribed(client, root + "#")).isEqualTo(0x87);
      }
    }
  }

  @Test
  void aTokenWithRulesThatCannotBeReadIsRefused() {
    try (TestBroker broker = ruled()) {
      for (Object acl : new Object[] {List.of("allow everyone all #"), List.of("allow all a/%{token.site}x"), List.of(1), "allow all #", Map.of("pub", "#")}) {
        assertThat(answer(broker, 5, provider.token("u", LONG, more -> more.claim("acl", acl)))).as("%s", acl).isEqualTo(0x87);
      }
    }
  }

  @Test
  void aWillIsCheckedByTheRulesOfTheTokenAtConnect() {
    try (TestBroker broker = ruled();
        RawClient watching = connected(broker, "watching", "w", "allow read wills/#")) {
      watching.subscribe("wills/#", 1);
      assertThat(answer(broker, willing("c", "wills/other", provider.token("u", LONG, more -> more.claim("acl", List.of("allow publish wills/%c")))))).isEqualTo(0x87);
      try (RawClient leaving = new RawClient(broker.port())) {
        leaving.connect(willing("c", "wills/c", provider.token("u", LONG, more -> more.claim("acl", List.of("allow publish wills/%c")))));
        leaving.reset();
      }
      assertThat(watching.take().topic()).isEqualTo("wills/c");
    }
  }

  /** What the token has allowed stays allowed, and what only the file has allowed does not. */
  @Test
  void aWillThatOnlyTheFileHasAllowedIsNotSentWhenTheFileDoesNotAnyMore() throws IOException {
    Path acl = Files.writeString(directory.resolve("acl"), "allow everyone publish wills/+\n");
    try (TestBroker broker = ruled("dunlin.auth.acl-file", acl.toString());
        RawClient watching = connected(broker, "watching", "w", "allow read wills/#", "allow publish denied")) {
      watching.subscribe("wills/#", 1);
      String token = provider.token("u", LONG, more -> more.claim("acl", List.of("allow publish wills/token")));
      String without = provider.token("u", LONG);
      Map<String, String> left = Map.of("wills/file", token, "wills/nothing", without, "wills/token", token);
      left.forEach((topic, shown) -> RawClient.connected(broker.port(), willingLater(topic, topic, shown)).reset());
      replace(acl, "deny everyone publish denied\nallow everyone publish other\n");
      await().atMost(TestBroker.SOON).until(() -> watching.publishAndWait("denied", "") == 0x87);
      // The end of the session ends the delay, too; the one that is sent comes last.
      for (String topic : List.of("wills/file", "wills/nothing", "wills/token")) {
        RawClient.connected(broker.port(), connect(5, 0xC2, 0, properties(), topic, "name", left.get(topic))).close();
        if (topic.equals("wills/token")) continue;
        await().atMost(TestBroker.SOON).until(() -> RuledBroker.metric(broker, "dunlin_auth_denied_total", "kind=\"will\"") == (topic.equals("wills/file") ? 1 : 2));
      }
      assertThat(watching.take().topic()).isEqualTo("wills/token");
      watching.ping();
    }
  }

  /** With a session and a delay of an hour. */
  private static byte[] willingLater(String clientId, String topic, String token) {
    return connect(5, 0xCC, 0, properties(RawClient.sessionExpiry(3_600)), clientId, properties(RawClient.willDelay(3_600)), topic, "gone", "name", token);
  }

  private static byte[] willing(String clientId, String topic, String token) {
    return connect(5, 0xCE, 0, RawClient.noProperties(), clientId, RawClient.noProperties(), topic, "gone", "name", token);
  }

  // ------------------------------------------------------------------------------------------------------------------ when they have to leave

  /** An end of a token in five to six seconds: a machine may stand still for some of them before the client is connected. */
  private static Instant soon() {
    return Instant.ofEpochSecond(Instant.now().getEpochSecond() + 6);
  }

  /** The broker counts the time to the end by a timer, which may be a little faster than the wall clock. */
  private static void assertNotEarly(Instant end) {
    assertThat(Instant.now()).isAfterOrEqualTo(end.minusMillis(100));
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  void theEndOfTheTokenIsTheEndOfTheConnection(int level) {
    try (TestBroker broker = ruled();
        RawClient watching = connected(broker, "watching", "w", "allow read wills/#");
        RawClient client = new RawClient(broker.port())) {
      watching.subscribe("wills/#", 1);
      Instant end = soon();
      String token = provider.token("u", LONG, more -> more.expirationTime(Date.from(end)).claim("acl", List.of("allow publish wills/c")));
      byte[] ofWill = level == 5 ? RawClient.noProperties() : new byte[0];
      client.connect(connect(level, 0xCE, 0, level == 5 ? RawClient.noProperties() : new byte[0], "c", ofWill, "wills/c", "gone", "name", token));
      client.ping();
      if (level == 5) client.expectDisconnect(0x87);
      else client.expectClosed();
      assertNotEarly(end);
      assertThat(watching.take().topic()).as("the will is sent").isEqualTo("wills/c");
      assertThat(answer(broker, level, token)).isEqualTo(level == 5 ? 0x87 : 5);
    }
  }

  @Test
  void aConnectionLastsLongerByTheClockSkew() {
    Duration skew = Duration.ofSeconds(5);
    try (TestBroker broker = broker("dunlin.auth.jwt.clock-skew", skew.toSeconds() + "s");
        RawClient client = new RawClient(broker.port())) {
      Instant end = Instant.ofEpochSecond(Instant.now().getEpochSecond() + 1);
      client.connect(connecting(5, "c", provider.token("u", LONG, more -> more.expirationTime(Date.from(end)))));
      client.expectDisconnect(0x87);
      assertNotEarly(end.plus(skew));
    }
  }

  private static byte[] withMethod(String token) {
    return properties(bytes(0x15, METHOD), bytes(0x16, token));
  }

  private static byte[] authAgain(String token) {
    return packet(RawClient.AUTH, 0x19, withMethod(token));
  }

  @Test
  void aClientShowsItsNextTokenByAuth() {
    try (TestBroker broker = ruled();
        RawClient client = new RawClient(broker.port())) {
      Instant end = soon();
      client.connect(connect(5, true, 0, "c", withMethod(provider.token("u", LONG, more -> more.expirationTime(Date.from(end)).claim("acl", List.of("allow all a/#"))))));
      client.subscribe("a/b", 1);
      assertThat(client.publishAndWait("b", "")).isEqualTo(0x87);

      client.send(authAgain(provider.token("u", LONG, more -> more.claim("acl", List.of("allow publish b", "allow publish a/b")))));
      assertThat(client.expect(RawClient.AUTH).reason()).isZero();
      assertThat(client.publishAndWait("b", "")).as("the new rules").isLessThan(0x80);
      assertThat(client.publishAndWait("a/c", "")).as("not the old ones").isEqualTo(0x87);
      assertThat(client.publishAndWait("a/b", "")).as("the subscription has ended").isLessThan(0x80);
      await().pollInterval(Duration.ofMillis(100)).atMost(TestBroker.SOON).until(() -> Instant.now().isAfter(end.plusMillis(1_500)));
      assertThat(client.untilPong()).as("nothing but the answer").isEmpty();
    }
  }

  @Test
  void aNextTokenMustBeGoodAndOfTheSameUser() {
    try (TestBroker broker = broker()) {
      for (String next : new String[] {provider.token("other", LONG), provider.forged("u"), provider.token("u", Duration.ofSeconds(-1)), "x", ""}) {
        try (RawClient client = new RawClient(broker.port())) {
          client.connect(connect(5, true, 0, "c", withMethod(provider.token("u", LONG))));
          client.send(authAgain(next));
          client.expectDisconnect(0x87);
        }
      }
      assertThat(answer(broker, connect(5, true, 0, "c", withMethod(provider.forged("u"))))).isEqualTo(0x87);
    }
  }

  // ------------------------------------------------------------------------------------------------------------------ keys

  @Test
  void withoutKeysClientsAreToldToComeAgain() {
    provider.answer(exchange -> exchange.sendResponseHeaders(503, -1));
    try (TestBroker broker = starting("dunlin.auth.failures-max", "3")) {
      for (int i = 0; i < 5; i++) {
        assertThat(answer(broker, 5, provider.token("alice", LONG))).as("this is no failure of the client").isEqualTo(0x88);
        assertThat(answer(broker, 4, provider.token("alice", LONG))).isEqualTo(3);
      }
      provider.recover();
      await().atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.token("alice", LONG)) == 0);
    }
  }

  @Test
  void aNewKeyIsFetchedWhenATokenNamesIt() {
    try (TestBroker broker = broker()) {
      String old = provider.token("alice", LONG);
      provider.rotate("key-2");
      await().atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.token("alice", LONG)) == 0);
      assertThat(answer(broker, 5, old)).as("the old key is not published any more").isIn(0x87, 0x88);
      provider.answer(exchange -> exchange.sendResponseHeaders(500, -1));
      await().atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.naming("key-3")) == 0x88);
      assertThat(answer(broker, 5, provider.token("alice", LONG))).as("known keys stay while fetches fail").isZero();
    }
  }

  @Test
  void aFloodOfUnknownKeysFetchesNothing() {
    try (TestBroker broker = broker("dunlin.auth.jwt.jwks-interval-min", "1h", "dunlin.auth.failures-max", "0")) {
      await("the fetch has ended").atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.naming("random")) == 0x87);
      int before = provider.requests();
      for (int i = 0; i < 300; i++) assertThat(answer(broker, 5, provider.naming("random-" + i))).isEqualTo(0x87);
      assertThat(provider.requests()).isEqualTo(before);
      assertThat(answer(broker, 5, provider.token("alice", LONG))).isZero();
    }
  }

  @Test
  void aSlowProviderDelaysNoClient() {
    CountDownLatch silent = new CountDownLatch(1);
    provider.answer(_ -> silent.await());
    // A client that waited for the provider would not be answered in time.
    try (TestBroker broker = starting("dunlin.auth.jwt.jwks-timeout", "1m", "dunlin.auth.anonymous", "true")) {
      for (int i = 0; i < 20; i++) {
        assertThat(answer(broker, 5, provider.token("alice", LONG))).isEqualTo(0x88);
        assertThat(answer(broker, connect(5, true, 0, "c", RawClient.noProperties()))).isZero();
      }
      provider.recover();
      silent.countDown();
      await().atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.token("alice", LONG)) == 0);
    }
  }

  @Test
  void aFileOfKeysIsFollowedAndAWrongOneLeavesTheOldKeys() throws IOException {
    Path keys = Files.writeString(directory.resolve("keys"), provider.keySet());
    try (TestBroker broker = starting("dunlin.auth.jwt.jwks-url", "", "dunlin.auth.jwt.keys-file", keys.toString())) {
      String old = provider.token("alice", LONG);
      assertThat(answer(broker, 5, old)).as("a file is read before clients come").isZero();
      provider.rotate("key-2");
      replace(keys, provider.keySet());
      await().atMost(TestBroker.SOON).until(() -> answer(broker, 5, provider.token("alice", LONG)) == 0);
      assertThat(answer(broker, 5, old)).isEqualTo(0x87);
      replace(keys, "{\"keys\":[]}");
      await().atMost(TestBroker.SOON).until(() -> RuledBroker.metric(broker, "dunlin_auth_jwt_keys_file_reloads_total", "result=\"failed\"") == 1);
      assertThat(answer(broker, 5, provider.token("alice", LONG))).isZero();
    }
  }

  private static void replace(Path file, String text) throws IOException {
    Path fresh = Files.writeString(file.resolveSibling("fresh"), text);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  @Test
  void settingsThatDoNotFitStopTheStart() throws IOException {
    Path keys = Files.writeString(directory.resolve("keys"), provider.keySet());
    wrong("dunlin.auth.jwt.jwks-url: must begin with https://", "dunlin.auth.jwt.jwks-url", "http://example.com/");
    wrong("dunlin.auth.jwt.secret-file: must be set for hs256", "dunlin.auth.jwt.algorithms", "hs256,es256");
    wrong("dunlin.auth.jwt.algorithms", "dunlin.auth.jwt.secret-file", keys.toString());
    wrong("dunlin.auth.jwt.keys-file: " + directory.resolve("absent") + ": there is no such file", "dunlin.auth.jwt.keys-file", directory.resolve("absent").toString());
    wrong("no key for rs256", "dunlin.auth.jwt.keys-file", keys.toString(), "dunlin.auth.jwt.algorithms", "rs256");
    wrong("a secret of 3 bytes", "dunlin.auth.jwt.secret-file", Files.writeString(directory.resolve("secret"), "abc\n").toString(), "dunlin.auth.jwt.algorithms", "es256,hs256");
    wrong("dunlin.auth.jwt.match-user-name", "dunlin.auth.jwt.match-user-name", "true", "dunlin.auth.jwt.token-in", "user-name");
    wrong("dunlin.auth.jwt.attribute-claims", "dunlin.auth.jwt.attribute-claims", "a/b");
    assertThat(directory.resolve("data")).doesNotExist();
  }

  private void wrong(String message, String... settings) {
    assertThatThrownBy(() -> starting(settings).close()).as(message).isInstanceOf(SettingException.class).hasMessageContaining(message);
  }
}
