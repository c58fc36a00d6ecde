package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.Certificates;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SecureBroker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page by the TLS port, for operators with a name and a password. */
class PasswordPageIT extends PageInChromium {
  private static final String PASSWORD = "a password with spaces and \u00fc";

  @TempDir Path directory;

  private final int port = FreePort.any();
  private TestBroker broker;
  private ApiCalls local;

  @BeforeEach
  void startBroker() throws Exception {
    SecureBroker secure = new SecureBroker(directory);
    secure.settings.clear();
    Certificates.Issued certificate = secure.authority.server();
    secure.settings.put("dunlin.store.fsync", "false");
    secure.settings.put("dunlin.admin.port", "0");
    secure.settings.put("dunlin.admin.tls.port", Integer.toString(port));
    secure.settings.put("dunlin.admin.tls.host", "127.0.0.1");
    secure.settings.put("dunlin.admin.tls.certificate", secure.file("admin.pem", certificate.certificatePem()));
    secure.settings.put("dunlin.admin.tls.key", secure.file("admin.key", certificate.keyPem()));
    broker = secure.start();
    local = ApiCalls.of(directory.resolve("data"));
    browser().call("Security.setIgnoreCertificateErrors", "{\"ignore\": true}"); // the browser does not know the test's authority
  }

  @AfterEach
  void stop() {
    if (broker == null) return; // skipped
    local.close();
    broker.close();
  }

  private void operator(String role) {
    assertThat(local.put("/operators/vera", "{\"role\":\"%s\",\"newPassword\":\"%s\"}".formatted(role, PASSWORD)).status()).isEqualTo(200);
  }

  private static void signInAs(String name, String password) throws Exception {
    await("the form", () -> js("document.getElementById('sign-in')?.checkVisibility()").equals("true"));
    fill("operator", name);
    fill("token", password);
    browser().press("Enter");
  }

  @Test
  void anOperatorSignsInAndHasTheButtonsOfTheRole() throws Exception {
    operator("operator");
    browser().open("https://127.0.0.1:" + port + "/");
    signInAs("vera", "not the password");
    await("the reason", () -> browser().text("sign-in-trouble").equals("There is no operator with this name and password."));
    assertThat(js("sessionStorage.length")).isEqualTo("0");

    signInAs("vera", PASSWORD);
    await("signed in", () -> browser().text("role").equals("operator"));
    assertThat(js("document.getElementById('token').value + document.getElementById('operator').value")).isEmpty();
    try (var _ = RawClient.connected(broker.port(), Connect.of("van-1"))) {
      await("events come by TLS, too", () -> browser().text("connections").equals("1"));
      view("sessions/van-1/default", "Sessions");
      await("the session", () -> browser().text("session").contains("Connected\nyes"));
      assertThat(js("document.querySelectorAll('#disconnect').length + ',' + document.querySelectorAll('#delete').length")).isEqualTo("1,0");
    }
    assertThat(browser().requests()).isNotEmpty().allMatch(request -> request.startsWith("https://127.0.0.1:" + port + "/"));

    assertThat(local.delete("/operators/vera").status()).isEqualTo(200);
    view("overview", "Overview");
    await("signed out", () -> js("document.getElementById('sign-in').checkVisibility()").equals("true"));
    assertThat(js("sessionStorage.length")).isEqualTo("0");
  }

  @Test
  void operatorsAreAddedChangedAndRemoved() throws Exception {
    signIn(local.address(), local.token());
    view("operators", "Operators");
    await("the first operator", () -> shown().matches("(?s).*admin\\s+admin\\s+Change Delete.*"));
    fill("operator-name", "vera");
    fill("operator-password", "short");
    press("#save");
    assertThat(js("document.getElementById('operator-password').validity.tooShort")).as("the browser itself refuses it").isEqualTo("true");
    fill("operator-password", PASSWORD);
    choose("operator-role", "operator");
    press("#save");
    awaitDone("The operator was saved.");
    await("the row", () -> shown().matches("(?s).*vera\\s+operator\\s.*"));
    assertThat(js("document.getElementById('operator-password').value")).as("it is not kept").isEmpty();
    assertThat(statusOf(PASSWORD)).isEqualTo(200);

    fill("operator-name", "vera");
    fill("operator-password", PASSWORD);
    press("#save");
    awaitTrouble("There is an operator of this name");
    assertThat(local.get("/operators").members("role")).as("nothing has changed").containsExactly("admin", "operator");

    press("button[aria-label=\"Change vera\"]");
    assertThat(focused()).isEqualTo("operator-password");
    assertThat(browser().text("editor-state")).isEqualTo("Changes the operator vera.");
    browser().type("another password");
    choose("operator-role", "viewer");
    press("#save");
    answer("Change the operator");
    await("the row", () -> shown().matches("(?s).*vera\\s+viewer\\s.*"));
    assertThat(statusOf(PASSWORD)).isEqualTo(401);
    assertThat(statusOf("another password")).isEqualTo(200);

    press("button[aria-label=\"Delete vera\"]");
    escape();
    assertThat(local.get("/operators").members("name")).containsExactly("admin", "vera");
    press("button[aria-label=\"Delete vera\"]");
    answer("Delete");
    awaitDone("vera was deleted.");
    assertThat(local.get("/operators").members("name")).containsExactly("admin");
    assertThat(statusOf("another password")).isEqualTo(401);
    assertThat(browser().errors()).isEmpty();
  }

  /** What the node says to the operator vera with this password. */
  private int statusOf(String password) {
    String basic = Base64.getEncoder().encodeToString(("vera:" + password).getBytes(StandardCharsets.UTF_8));
    try (ApiCalls nameless = local.with("")) {
      return nameless.send("GET", "/status", null, "application/json", "Authorization", "Basic " + basic).status();
    }
  }

  @Test
  void onlyAnAdminSeesOperators() throws Exception {
    operator("operator");
    browser().open("https://127.0.0.1:" + port + "/");
    signInAs("vera", PASSWORD);
    await("signed in", () -> browser().text("role").equals("operator"));
    assertThat(js("document.querySelector('[href=\"#/operators\"]').checkVisibility()")).isEqualTo("false");
    view("operators", "Operators");
    awaitShown("To see operators needs the role admin.");
    assertThat(js("document.querySelectorAll('#view form, #view table').length")).isEqualTo("0");
  }
}
