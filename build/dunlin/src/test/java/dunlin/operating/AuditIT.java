package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.broker.PublishingMXBean;
import dunlin.broker.users.AccessMXBean;
import dunlin.broker.users.BanKind;
import dunlin.harness.ApiCalls;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the log {@code dunlin.audit} says of operators and of clients that were refused. */
class AuditIT {
  private static final String SECRET = "a-password-of-some-length";
  private static final String PAYLOAD = Base64.getEncoder().encodeToString("a payload of some length".getBytes(StandardCharsets.UTF_8));

  @TempDir Path directory;

  private LoggedLines lines;
  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() throws IOException {
    Path tokens = directory.resolve("tokens");
    Files.writeString(tokens, AdminTokens.line("olga", Role.OPERATOR, "operator-token") + "\n" + AdminTokens.line("vera", Role.VIEWER, "viewer-token") + "\n");
    Path data = directory.resolve("data");
    broker =
        TestBroker.on(
            data,
            Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.auth.users.enabled", "true", "dunlin.admin.token-file", tokens.toString()));
    api = ApiCalls.of(data);
    lines = LoggedLines.ofAudit();
  }

  @AfterEach
  void stop() {
    lines.close();
    api.close();
    broker.close();
  }

  private int answer(String clientId, String user, String password) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), clientId, user, password));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  @Test
  void changesByTheApiAreThereWithWhoAskedAndWhatCameOfIt() {
    try (ApiCalls operator = api.with("operator-token");
        ApiCalls viewer = api.with("viewer-token")) {
      assertThat(api.put("/users/alice", "{\"password\":\"" + SECRET + "\",\"roles\":\"\"}").status()).isEqualTo(200);
      assertThat(operator.put("/bans/client/a%2Fb", "{\"seconds\":60,\"reason\":\"loud\"}").status()).isEqualTo(200);
      assertThat(operator.delete("/bans/client/none").status()).isEqualTo(404);
      assertThat(viewer.delete("/users/alice").status()).isEqualTo(403);
      assertThat(operator.post("/publish", "{\"topic\":\"t\",\"payload\":\"" + PAYLOAD + "\"}").status()).isEqualTo(200);
      assertThat(viewer.get("/users").status()).isEqualTo(200);
    }

    assertThat(lines.of("api-request"))
        .satisfiesExactly(
            line ->
                assertThat(line)
                    .contains(
                        "who=\"admin-access\" role=admin address=\"127.0.0.1\" request=usersPut",
                        parameters("user=\"alice\" password=*** roles=\"\""), "status=200"),
            line ->
                assertThat(line)
                    .contains("who=\"olga\" role=operator", "request=bansPut", parameters("kind=\"client\" value=\"a/b\" seconds=\"60\" reason=\"loud\""), "status=200"),
            line -> assertThat(line).contains("request=bansDelete", parameters("kind=\"client\" value=\"none\""), "status=404"),
            line -> assertThat(line).contains("who=\"vera\" role=viewer", "request=usersDelete", parameters("user=\"alice\""), "status=403"),
            line -> assertThat(line).contains("who=\"olga\"", "request=publish", escaped("topic=\"t\" payload=***"), "status=200"));
    assertThat(lines.of("access-changed")).hasSize(2);
    assertThat(lines.all()).noneMatch(line -> line.contains(SECRET) || line.contains(PAYLOAD));
  }

  /** At DEBUG only, because each client that connects causes one. */
  @Test
  void loginsAreThereAtDebug() {
    AccessMXBean access = broker.bean("Access", AccessMXBean.class);
    access.putUser("alice", SECRET, "", true, -1);
    assertThat(answer("pump", "alice", SECRET)).isZero();
    assertThat(lines.of("authentication-accepted")).isEmpty();
    try (LoggedLines all = new LoggedLines("dunlin.audit", Level.DEBUG)) {
      assertThat(answer("pump", "alice", SECRET)).isZero();
      assertThat(answer("pump", "alice", "wrong")).isEqualTo(0x86);
      assertThat(all.of("authentication-accepted"))
          .singleElement()
          .asString()
          .contains("client=\"pump\" user=\"alice\" tenant=default method=\"\" address=\"/127.0.0.1:", "listener=tcp", "again=false", "untold=0")
          .doesNotContain(SECRET);
    }
  }

  /** Texts in quotes, as they stand within quotes. */
  private static String escaped(String texts) {
    return texts.replace("\\", "\\\\").replace("\"", "\\\"");
  }

  private static String parameters(String all) {
    return "parameters=\"" + escaped(all) + "\"";
  }

  /** None is missing because another is long, and none looks like two. */
  @Test
  void eachParameterStandsForItself() {
    AccessMXBean access = broker.bean("Access", AccessMXBean.class);
    String roles = "operator,".repeat(25);

    api.put("/users/alice", "{\"password\":\"" + SECRET + "\",\"roles\":\"" + roles + "\",\"disabled\":true}");
    api.put("/bans/client/pump", "{\"seconds\":60,\"reason\":\"loud\\\" seconds=\\\"0\\\" x=y\"}");
    assertThatThrownBy(() -> access.putUser("bob", SECRET, roles, false, 7)).isInstanceOf(RuntimeException.class);
    access.putBan(BanKind.CLIENT, "valve", 60, "loud\" seconds=\"0\" x=y", -1);

    String cut = "roles=\"" + roles.substring(0, 128) + "...\"";
    String whole = "reason=\"loud\\\" seconds=\\\"0\\\" x=y\"";
    assertThat(lines.of("api-request"))
        .satisfiesExactly(
            line -> assertThat(line).contains(parameters("user=\"alice\" password=*** " + cut + " disabled=\"true\"")),
            line -> assertThat(line).contains(parameters("kind=\"client\" value=\"pump\" seconds=\"60\" " + whole)));
    assertThat(lines.of("jmx-operation"))
        .satisfiesExactly(
            line -> assertThat(line).contains(escaped("name=\"bob\" password=*** " + cut + " enabled=\"false\" version=\"7\"")),
            line -> assertThat(line).contains(escaped("kind=\"CLIENT\" value=\"valve\" seconds=\"60\" " + whole + " version=\"-1\"")));
  }

  @Test
  void whoHasNoCredentialsIsThereInAFewLines() {
    long begun = System.nanoTime();
    try (ApiCalls stranger = api.with("no-token")) {
      for (int i = 0; i < 100; i++) assertThat(stranger.delete("/users/alice").status()).isEqualTo(401);
    }
    long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);

    // Five in each second by the clock, of which the first and the last are only touched.
    assertThat(lines.of("api-refused")).hasSizeBetween(5, 5 * ((int) seconds + 2)).allMatch(line -> line.contains("address=\"127.0.0.1\" status=401"));
    assertThat(lines.of("api-request")).isEmpty();
    assertThat(lines.all()).noneMatch(line -> line.contains("no-token"));
  }

  @Test
  void operationsByJmxAreThereWithoutPasswordsAndPayloads() {
    AccessMXBean access = broker.bean("Access", AccessMXBean.class);
    access.putUser("alice", SECRET, "", true, 0);
    assertThatThrownBy(() -> access.putUser("alice", SECRET, "", true, 0)).isInstanceOf(IllegalStateException.class);
    assertThat(access.isComplete()).as("an attribute, which has no line").isTrue();
    broker.bean("Publishing", PublishingMXBean.class).publish("default", "t", 0, false, PAYLOAD);

    assertThat(lines.of("jmx-operation"))
        .satisfiesExactly(
            line ->
                assertThat(line)
                    .contains(
                        "who=\"\" address=\"\"", "type=Access,", "operation=\"putUser\"",
                        escaped("name=\"alice\" password=*** roles=\"\" enabled=\"true\" version=\"0\""), "outcome=done"),
            line -> assertThat(line).contains("operation=\"putUser\"", "outcome=IllegalStateException"),
            line -> assertThat(line).contains("type=Publishing,", "operation=\"publish\"", escaped("topic=\"t\""), "payload=***", "outcome=done"));
    assertThat(lines.all()).noneMatch(line -> line.contains(SECRET) || line.contains(PAYLOAD));
  }

  @Test
  void clientsThatAreRefusedAndDeniedAreThere() {
    api.put("/users/alice", "{\"password\":\"" + SECRET + "\"}");
    assertThat(answer("pump", "alice", "wrong-" + SECRET)).isEqualTo(0x86);
    try (RawClient client = new RawClient(broker.port())) {
      client.connect(RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), "pump", "alice", SECRET));
      client.publish("forbidden/topic", 1, 1, "a payload of some length");
      assertThat(client.expect(RawClient.PUBACK).reason()).isEqualTo(0x87);
      client.send(RawClient.SUBSCRIBE, RawClient.u16(7), RawClient.noProperties(), "forbidden/#", 1);
      assertThat(client.expect(RawClient.SUBACK).reason()).isEqualTo(0x87);
    }

    assertThat(lines.of("authentication-refused")).singleElement().asString().contains("client=\"pump\" user=\"alice\"", "reason=bad-user-name-or-password");
    assertThat(lines.of("access-denied")).anyMatch(line -> line.contains("kind=publish client=\"pump\" user=\"alice\" topic=\"forbidden/topic\""));
    assertThat(lines.of("access-denied")).anyMatch(line -> line.contains("kind=subscribe client=\"pump\" user=\"alice\" topic=\"forbidden/#\""));
    assertThat(lines.all()).noneMatch(line -> line.contains(SECRET) || line.contains("a payload"));
  }
}
