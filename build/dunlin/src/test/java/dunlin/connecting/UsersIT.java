package dunlin.connecting;

import static dunlin.harness.RawClient.CONNACK;
import static dunlin.harness.RawClient.SUBACK;
import static dunlin.harness.RawClient.SUBSCRIBE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.broker.users.AccessMXBean;
import dunlin.broker.users.BanKind;
import dunlin.harness.RawClient;
import dunlin.harness.SecureBroker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Users, roles and bans that operators change while the broker runs: who is let in, what they may do, who has to leave. */
class UsersIT {
  private static final long ANY = -1;

  @TempDir Path directory;

  private TestBroker broker(String... settings) {
    var all = new HashMap<>(Map.of("dunlin.auth.users.enabled", "true", "dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    return TestBroker.on(directory.resolve("data"), all);
  }

  private static AccessMXBean access(TestBroker broker) {
    return broker.bean("Access", AccessMXBean.class);
  }

  /** The reason or return code of CONNACK. */
  private static int answer(TestBroker broker, int level, String clientId, String user, String password) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(connecting(level, clientId, user, password));
      return client.expect(CONNACK).at(1);
    }
  }

  private static int answer(TestBroker broker, String user, String password) {
    return answer(broker, 5, UUID.randomUUID().toString(), user, password);
  }

  private static byte[] connecting(int level, String clientId, String user, String password) {
    return RawClient.connect(level, 0xC2, 0, RawClient.noProperties(), clientId, user, password);
  }

  private static RawClient connected(TestBroker broker, String clientId, String user, String password) {
    return RawClient.connected(broker.port(), connecting(5, clientId, user, password));
  }

  @Test
  void usersAreLetInWithTheirPasswordAndDoWhatTheirRolesAllow() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      assertThat(answer(broker, "alice", "secret")).isEqualTo(0x86);
      access.putRole("devices", "allow publish devices/%c/up qos=1\nallow read devices/%c/down", 0);
      access.putUser("alice", "secret", "devices", true, 0);

      for (int level : new int[] {3, 4, 5}) assertThat(answer(broker, level, "pump" + level, "alice", "secret")).isZero();
      assertThat(answer(broker, "alice", "wrong")).isEqualTo(0x86);
      assertThat(answer(broker, "bob", "secret")).isEqualTo(0x86);
      try (RawClient alice = connected(broker, "pump", "alice", "secret")) {
        assertThat(alice.publishAndWait("devices/pump/up", "x")).isNotEqualTo(0x87);
        assertThat(alice.publishAndWait("devices/other/up", "x")).isEqualTo(0x87);
      }
    }
  }

  @Test
  void aChangedRoleCountsForConnectedClients() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putRole("r", "allow publish a", ANY);
      access.putRole("s", "allow publish b", ANY);
      access.putUser("alice", "secret", "r", true, ANY);
      try (RawClient alice = connected(broker, "c", "alice", "secret")) {
        assertThat(alice.publishAndWait("b", "x")).isEqualTo(0x87);

        access.putUser("alice", "", "r, s", true, ANY);
        await().atMost(TestBroker.SOON).until(() -> alice.publishAndWait("b", "x") != 0x87);
        access.putRole("s", "allow publish other", ANY);
        await().atMost(TestBroker.SOON).until(() -> alice.publishAndWait("b", "x") == 0x87);
        assertThat(alice.publishAndWait("a", "x")).isNotEqualTo(0x87);
      }
      assertThat(answer(broker, "alice", "secret")).as("its password was kept").isZero();
    }
  }

  @Test
  void aUserThatIsDeletedOrDisabledHasToLeave() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      for (String user : new String[] {"alice", "bob", "carol"}) access.putUser(user, "secret", "", true, 0);
      try (RawClient alice = connected(broker, "a", "alice", "secret");
          RawClient bob = connected(broker, "b", "bob", "secret");
          RawClient carol = connected(broker, "c", "carol", "secret")) {
        access.putUser("alice", "", "", false, ANY);
        alice.expectDisconnect(0x87);
        access.deleteUser("bob", ANY);
        bob.expectDisconnect(0x87);
        carol.ping();
      }
      assertThat(answer(broker, "alice", "secret")).isEqualTo(0x86);
      assertThat(answer(broker, "bob", "secret")).isEqualTo(0x86);
      access.putUser("alice", "", "", true, ANY);
      assertThat(answer(broker, "alice", "secret")).isZero();
    }
  }

  @Test
  void aNewPasswordCountsAtOnceAlthoughTheOldOneIsRemembered() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putUser("alice", "first", "", true, 0);
      access.putUser("bob", "secret", "", true, 0);
      for (int i = 0; i < 3; i++) assertThat(answer(broker, "alice", "first")).isZero();
      access.putUser("alice", "second", "", true, ANY);

      assertThat(answer(broker, "alice", "first")).isEqualTo(0x86);
      assertThat(answer(broker, "alice", "second")).isZero();
      assertThat(answer(broker, "bob", "secret")).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({"CLIENT, pump", "USER, alice", "ADDRESS, 127.0.0.0/8"})
  void whoIsBannedHasToLeaveAndIsRefusedUntilTheBanIsDeleted(BanKind kind, String value) {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putUser("alice", "secret", "", true, 0);
      try (RawClient alice = connected(broker, "pump", "alice", "secret")) {
        access.putBan(kind, value, 600, "loud", 0);
        alice.expectDisconnect(0x98);
      }
      assertThat(answer(broker, 5, "pump", "alice", "secret")).isEqualTo(0x8A);
      assertThat(answer(broker, 5, "pump", "alice", "wrong")).as("before the password is looked at").isEqualTo(0x8A);
      assertThat(answer(broker, 4, "pump", "alice", "secret")).isEqualTo(5);

      access.deleteBan(kind, value, ANY);
      assertThat(answer(broker, 5, "pump", "alice", "secret")).isZero();
    }
  }

  @Test
  void aBanEndsByItself() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putUser("alice", "secret", "", true, 0);
      access.putBan(BanKind.USER, "alice", 2, "", 0);
      assertThat(answer(broker, "alice", "secret")).isEqualTo(0x8A);

      await().atMost(TestBroker.SOON).until(() -> answer(broker, "alice", "secret") == 0);
    }
  }

  /** A user that cannot log in by a password: the certificate says who the client is, and the user's roles what it may do. */
  @Test
  void aCertificateHasTheRolesOfItsUser() throws IOException {
    var secure = new SecureBroker(directory).withCertificate().askingClients();
    secure.settings.putAll(Map.of("dunlin.auth.users.enabled", "true", SecureBroker.ROOT + "tls.identity", "cn-user-name"));
    SSLContext pump = secure.authority.context(secure.authority.client("CN=pump"));
    SSLContext unknown = secure.authority.context(secure.authority.client("CN=unknown"));
    try (TestBroker broker = secure.start();
        RawClient stranger = SecureBroker.connected(broker, unknown, "stranger")) {
      AccessMXBean access = access(broker);
      access.putRole("pumps", "allow publish up/%u", 0);
      access.putUser("pump", "", "pumps", true, 0);
      try (RawClient client = SecureBroker.connected(broker, pump, "c")) {
        assertThat(client.publishAndWait("up/pump", "x")).isNotEqualTo(0x87);
        assertThat(client.publishAndWait("up/unknown", "x")).isEqualTo(0x87);
        assertThat(stranger.publishAndWait("up/unknown", "x")).as("what no rule allows").isEqualTo(0x87);

        access.putRole("pumps", "allow publish down/%u", ANY);
        await().atMost(TestBroker.SOON).until(() -> client.publishAndWait("up/pump", "x") == 0x87);
        access.putUser("pump", "", "pumps", false, ANY);
        client.expectDisconnect(0x87);
      }
      try (RawClient again = new RawClient(SecureBroker.socket(broker, pump))) {
        again.send(RawClient.connect(5, true, 0, "c", RawClient.noProperties()));
        assertThat(again.expect(CONNACK).at(1)).isEqualTo(0x87);
      }
    }
  }

  @Test
  void whatIsChangedOutlivesTheBroker() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putRole("r", "allow read down/#", 0);
      access.putUser("alice", "secret", "r", true, 0);
      access.putBan(BanKind.CLIENT, "pump", 0, "loud", 0);
    }
    try (TestBroker broker = broker("dunlin.auth.users.enabled", "false")) {
      assertThat(answer(broker, "any", "any")).as("they are there, and not used").isZero();
    }
    try (TestBroker broker = broker()) {
      assertThat(answer(broker, 5, "pump", "alice", "secret")).isEqualTo(0x8A);
      try (RawClient alice = connected(broker, "other", "alice", "secret")) {
        alice.subscribe("down/x", 1);
        alice.send(SUBSCRIBE, RawClient.u16(77), RawClient.noProperties(), "up/x", new byte[] {1});
        assertThat(alice.next(SUBACK).reason()).isEqualTo(0x87);
      }
    }
  }

  /** Rules of the file come first, and so do its users. */
  @Test
  void thePasswordFileAndTheRuleFileComeFirst() throws Exception {
    Path acl = directory.resolve("acl");
    Files.writeString(acl, "deny user alice publish secret\n");
    Path passwords = directory.resolve("passwords");
    PasswordFile.put(passwords, "root", "of file".getBytes(StandardCharsets.UTF_8), 4_096);
    try (TestBroker broker = broker("dunlin.auth.acl-file", acl.toString(), "dunlin.auth.password-file", passwords.toString())) {
      AccessMXBean access = access(broker);
      access.putRole("all", "allow all #", 0);
      access.putUser("alice", "secret", "all", true, 0);
      access.putUser("root", "of users", "all", true, 0);

      assertThat(answer(broker, "root", "of file")).isZero();
      assertThat(answer(broker, "root", "of users")).isEqualTo(0x86);
      try (RawClient alice = connected(broker, "c", "alice", "secret")) {
        assertThat(alice.publishAndWait("open", "x")).isNotEqualTo(0x87);
        assertThat(alice.publishAndWait("secret", "x")).isEqualTo(0x87);
      }
    }
  }

  @Test
  void whatIsWrongIsRefusedAndChangesNothing() {
    try (TestBroker broker = broker("dunlin.auth.users.users-max", "1")) {
      AccessMXBean access = access(broker);
      long version = access.putUser("alice", "secret", "", true, 0);

      assertThatThrownBy(() -> access.putUser("bob", "secret", "", true, 0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("dunlin.auth.users.users-max");
      assertThatThrownBy(() -> access.putUser("alice", "x", "", true, 0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("has version " + version);
      assertThatThrownBy(() -> access.putUser("alice", "x", "none", true, ANY)).isInstanceOf(IllegalStateException.class).hasMessageContaining("no role \"none\"");
      assertThatThrownBy(() -> access.putUser("", "x", "", true, ANY)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> access.putUser("a\u0000", "x", "", true, ANY)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> access.putRole("r", "allow publish a\nallow fly a", ANY)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("line 2, column 7");
      assertThatThrownBy(() -> access.putRole("no name", "allow all #", ANY)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> access.putBan(BanKind.ADDRESS, "example.com", 0, "", ANY)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> access.putBan(BanKind.ADDRESS, "10.0.0.0/33", 0, "", ANY)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> access.deleteUser("bob", ANY)).isInstanceOf(NoSuchElementException.class);
      assertThat(access.getVersion()).isEqualTo(version);
      assertThat(answer(broker, "alice", "secret")).isZero();
      assertThat(access.users("", 10)).extracting(AccessMXBean.UserRow::toString).singleElement().asString().doesNotContain("SCRAM");
    }
  }

  @Test
  void rowsAreListedByPages() {
    try (TestBroker broker = broker()) {
      AccessMXBean access = access(broker);
      access.putRole("r", "allow all #", 0);
      for (String user : new String[] {"c", "a", "b"}) access.putUser(user, user.equals("b") ? "" : "x", "r", true, 0);
      access.putBan(BanKind.ADDRESS, "192.0.2.77/24", 0, "why", 0);

      assertThat(access.users("", 2)).extracting(AccessMXBean.UserRow::name).containsExactly("a", "b");
      assertThat(access.users("b", 2)).extracting(AccessMXBean.UserRow::name).containsExactly("c");
      assertThat(access.user("b")).singleElement().satisfies(row -> assertThat(row.password()).isFalse());
      assertThat(access.role("r")).singleElement().satisfies(row -> assertThat(row.users()).isEqualTo(3));
      assertThat(access.bans(BanKind.ADDRESS, "", 5)).singleElement().satisfies(row -> assertThat(row.value()).isEqualTo("192.0.2.0/24"));
      assertThat(access.ban(BanKind.ADDRESS, "192.0.2.1/24")).hasSize(1);
      assertThat(answer(broker, "b", "x")).as("a user without a password").isEqualTo(0x86);
    }
  }
}
