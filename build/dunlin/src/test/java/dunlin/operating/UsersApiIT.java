package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.Dunlinctl;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Users, roles, bans and tenants by the admin API and {@code dunlinctl}, beside what clients see. */
class UsersApiIT {
  @TempDir Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() throws IOException {
    String operator = AdminTokens.line("operator", Role.OPERATOR, "operator-token");
    String viewer = AdminTokens.line("viewer", Role.VIEWER, "viewer-token");
    Path tokens = directory.resolve("tokens");
    Files.writeString(tokens, operator + "\n" + viewer + "\n");
    broker =
        TestBroker.on(
            data(),
            Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.auth.users.enabled", "true", "dunlin.admin.token-file", tokens.toString()));
    api = ApiCalls.of(data());
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private Path data() {
    return directory.resolve("data");
  }

  private int answer(String clientId, String user, String password) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), clientId, user, password));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  private String put(String path, String body) {
    Answer answer = api.put(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.member("version");
  }

  @Test
  void usersAndRolesAreCreatedShownChangedAndDeleted() {
    put("/roles/devices", "{\"rules\":\"allow publish devices/%c/up\\nallow read devices/%c/down\",\"expectedVersion\":0}");
    put("/users/alice", "{\"password\":\"secret\",\"roles\":\"devices\",\"expectedVersion\":0}");
    put("/users/b%2Fo%20b", "{}");
    assertThat(answer("pump", "alice", "secret")).isZero();

    assertThat(api.get("/users").members("name")).containsExactly("alice", "b/o b");
    assertThat(api.get("/users").members("password")).containsExactly("true", "false");
    Answer first = api.get("/users?limit=1");
    assertThat(api.get("/users?limit=1&cursor=" + first.member("next")).members("name")).containsExactly("b/o b");
    assertThat(api.get("/users/b%2Fo%20b").member("roles")).isEmpty();
    assertThat(api.get("/users/alice").text()).contains("devices").doesNotContain("secret", "SCRAM");
    assertThat(api.get("/roles/devices").member("users")).isEqualTo("1");
    assertThat(api.get("/roles").members("rules").getFirst()).isEqualTo("allow publish devices/%c/up\nallow read devices/%c/down");

    String version = put("/users/alice", "{\"roles\":\"\",\"disabled\":true}");
    assertThat(answer("pump", "alice", "secret")).isEqualTo(0x86);
    put("/users/alice", "{\"expectedVersion\":" + version + "}");
    assertThat(answer("pump", "alice", "secret")).as("the password stays").isZero();
    assertThat(api.delete("/roles/devices").status()).isEqualTo(200);
    assertThat(api.delete("/users/alice?expectedVersion=" + version).status()).as("an old version").isEqualTo(409);
    assertThat(api.delete("/users/alice").status()).isEqualTo(200);
    assertThat(answer("pump", "alice", "secret")).isEqualTo(0x86);
    assertThat(api.get("/users/alice").status()).isEqualTo(404);
    assertThat(api.delete("/users/alice").status()).isEqualTo(404);
  }

  @Test
  void aCheckSaysWhichRuleDecides() throws Exception {
    put("/roles/devices", "{\"rules\":\"deny publish devices/%c/secret\\nallow publish devices/%c/# qos=1\\nallow read devices/%c/#\"}");
    put("/users/alice", "{\"password\":\"secret\",\"roles\":\"devices\"}");
    String asked = "/access/check?client=pump&user=alice&topic=devices/pump/";

    await().atMost(TestBroker.SOON).until(() -> api.get(asked + "up&action=publish&qos=1").member("allowed").equals("true"));
    assertThat(api.get(asked + "up&action=publish&qos=1").member("reason")).isEqualTo("allowed by role devices:2");
    assertThat(api.get(asked + "up&action=publish&qos=2").member("reason")).isEqualTo("denied by default: no rule matches");
    assertThat(api.get(asked + "secret&action=publish").member("reason")).isEqualTo("denied by role devices:1");
    assertThat(api.get(asked + "%23&action=subscribe").member("allowed")).isEqualTo("true");
    assertThat(api.get("/access/check?client=other&user=alice&topic=devices/pump/up&action=publish").member("allowed")).as("of another client").isEqualTo("false");
    assertThat(api.get("/access/check?user=bob&topic=devices/pump/up&action=publish").text()).contains("no such user");
    for (String wrong : new String[] {"topic=a/%2B&action=publish", "topic=a%23&action=subscribe", "topic=a&action=all", "topic=a&action=publish&qos=3", "action=publish"}) {
      assertThat(api.get("/access/check?" + wrong).status()).as(wrong).isEqualTo(400);
    }

    var ctl = Dunlinctl.run(directory, data(), "access", "check", "--action", "publish", "--topic", "devices/pump/up", "--client", "pump", "--user", "alice", "--qos", "1");
    assertThat(ctl.out()).contains("allowed by role devices:2");

    put("/users/alice", "{\"roles\":\"devices\",\"disabled\":true}");
    await().atMost(TestBroker.SOON).until(() -> api.get(asked + "up&action=publish&qos=1").member("allowed").equals("false"));
    assertThat(api.get(asked + "up&action=publish&qos=1").text()).contains("disabled");
  }

  @Test
  void bansAreCreatedShownAndDeleted() {
    put("/users/alice", "{\"password\":\"secret\"}");
    put("/bans/client/a%2Fb", "{\"reason\":\"loud\",\"seconds\":600}");
    put("/bans/address/192.0.2.7%2F24", "{}");
    assertThat(answer("a/b", "alice", "secret")).isEqualTo(0x8A);

    assertThat(api.get("/bans/client").members("reason")).containsExactly("loud");
    assertThat(api.get("/bans/address").members("value")).containsExactly("192.0.2.0/24");
    assertThat(api.get("/bans/user").members("value")).isEmpty();
    assertThat(api.get("/bans/address/192.0.2.0%2F24").member("until")).isEmpty();
    assertThat(api.get("/bans/client/a%2Fb").member("kind")).isEqualTo("client");
    assertThat(api.delete("/bans/client/a%2Fb").status()).isEqualTo(200);
    assertThat(answer("a/b", "alice", "secret")).isZero();
    assertThat(api.get("/bans/client/a%2Fb").status()).isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/users/alice | {\"roles\":\"none\"} | 409 | no role",
        "/users/alice | {\"expectedVersion\":7} | 409 | does not exist",
        "/users/alice | {\"expectedVersion\":-2} | 400 | integer from -1",
        "/users/alice | {\"enabled\":true} | 400 | no parameter",
        "/users/a%00 | {} | 400 | not allowed",
        "/roles/no%20name | {\"rules\":\"allow all #\"} | 400 | letters",
        "/roles/r | {} | 400 | missing",
        "/roles/r | {\"rules\":\"allow publish a\\nallow fly a\"} | 400 | 'ine 2, column 7'",
        "/bans/address/example.com | {} | 400 | either an address",
        "/bans/device/x | {} | 400 | 'client, user, address'",
        "/bans/user/alice | {\"seconds\":-1} | 400 | integer from 0",
      })
  void whatIsWrongIsRefusedWithASentence(String path, String body, int status, String why) {
    Answer answer = api.put(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(status);
    assertThat(answer.member("detail")).contains(why);
    assertThat(api.get("/users").members("name")).isEmpty();
  }

  @Test
  void aPasswordThatIsTooLongIsRefusedAndNotRepeated() {
    Answer answer = api.put("/users/alice", "{\"password\":\"" + "secret".repeat(200) + "\"}");
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.text()).contains("password").doesNotContain("secretsecret");
  }

  @Test
  void tenantsAreCreatedShownChangedSuspendedResumedAndDeleted() throws Exception {
    String version = put("/tenants/blue", "{\"limits\":\"connections=10,packet=65536\",\"expectedVersion\":0}");
    put("/tenants/green", "{}");
    assertThat(api.get("/tenants").members("name")).containsExactly("blue", "green");
    assertThat(api.get("/tenants?limit=1&cursor=" + api.get("/tenants?limit=1").member("next")).members("name")).containsExactly("green");
    assertThat(api.get("/tenants/blue").text()).contains("connections=10,packet=64KiB", "active");
    assertThat(api.put("/tenants/blue", "{\"expectedVersion\":0}").status()).isEqualTo(409);
    assertThat(api.put("/tenants/blue", "{\"limits\":\"packet=1\"}").status()).isEqualTo(400);
    assertThat(api.put("/tenants/a%2Fb", "{}").status()).isEqualTo(400);

    assertThat(api.post("/tenants/blue/suspend", "{\"expectedVersion\":" + version + "}").status()).isEqualTo(200);
    assertThat(api.get("/tenants/blue").member("state")).isEqualTo("suspended");
    assertThat(ctl("tenants", "resume", "blue").code()).isZero();
    assertThat(ctl("tenants", "list").out()).contains("NAME", "blue", "active", "connections=10");
    try (ApiCalls operator = api.with("operator-token");
        ApiCalls viewer = api.with("viewer-token")) {
      assertThat(viewer.get("/tenants").members("name")).containsExactly("blue", "green");
      assertThat(viewer.post("/tenants/blue/suspend", "{}").status()).isEqualTo(403);
      assertThat(operator.put("/tenants/blue", "{}").status()).isEqualTo(403);
      assertThat(operator.delete("/tenants/blue").status()).isEqualTo(403);
      assertThat(operator.post("/tenants/blue/suspend", "{}").status()).isEqualTo(200);
    }
    assertThat(api.delete("/tenants/blue").status()).isEqualTo(200);
    await().atMost(TestBroker.SOON).until(() -> api.get("/tenants/blue").status() == 404);
    assertThat(api.delete("/tenants/blue").status()).isEqualTo(404);
    assertThat(api.post("/tenants/blue/resume", "{}").status()).isEqualTo(404);
  }

  @Test
  void aTokenMayDoWhatItsRoleMay() {
    put("/users/alice", "{\"password\":\"secret\"}");
    try (ApiCalls operator = api.with("operator-token");
        ApiCalls viewer = api.with("viewer-token")) {
      assertThat(viewer.get("/users").members("name")).containsExactly("alice");
      assertThat(viewer.put("/bans/user/alice", "{}").status()).isEqualTo(403);
      assertThat(operator.put("/users/mallory", "{}").status()).isEqualTo(403);
      assertThat(operator.delete("/users/alice").status()).isEqualTo(403);
      assertThat(operator.put("/roles/all", "{\"rules\":\"allow all #\"}").status()).isEqualTo(403);
      assertThat(operator.put("/bans/user/alice", "{}").status()).isEqualTo(200);
      assertThat(operator.delete("/bans/user/alice").status()).isEqualTo(200);
    }
  }

  @Test
  void dunlinctlReadsPasswordsAndRulesFromFiles() throws Exception {
    Path rules = Files.writeString(directory.resolve("rules"), "allow publish up/%c\n\nallow read down/#\n");
    Path password = Files.writeString(directory.resolve("password"), "secret\nnot this\n");
    assertThat(ctl("roles", "put", "r", "--rules-from", rules.toString()).code()).isZero();
    assertThat(ctl("users", "put", "alice", "--password-from", password.toString(), "--roles", "r").code()).isZero();

    assertThat(answer("c", "alice", "secret")).isZero();
    assertThat(ctl("roles", "get", "r").out()).contains("allow read down/#");
    assertThat(ctl("users", "list").out()).contains("NAME", "alice").doesNotContain("secret");
    assertThat(ctl("bans", "put", "client", "c", "--seconds", "60").code()).isZero();
    assertThat(answer("c", "alice", "secret")).isEqualTo(0x8A);
    Dunlinctl refused = ctl("users", "delete", "bob");
    assertThat(refused.code()).isEqualTo(1);
    assertThat(refused.err()).contains("There is no such user.");
  }

  private Dunlinctl ctl(String... arguments) throws IOException, InterruptedException {
    return Dunlinctl.run(directory, data(), arguments);
  }
}
