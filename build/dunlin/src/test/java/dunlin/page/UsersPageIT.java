package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Users, roles and bans on the page, beside what clients see. */
class UsersPageIT extends PageOfBroker {
  private static final int NOT_AUTHORIZED = 0x87;
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final int BAD_USER_NAME_OR_PASSWORD = 0x86;
  private static final int BANNED = 0x8A;

  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.auth.users.enabled", "true");
  }

  private static byte[] connect(String clientId, String user, String password) {
    return RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), clientId, user, password);
  }

  private int answerTo(String clientId, String user, String password) {
    try (var client = new RawClient(broker.port())) {
      client.send(connect(clientId, user, password));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  @Test
  void aUserIsMadeWithARoleChangedAndDeleted() throws Exception {
    signIn(api.token());
    view("roles", "Roles");
    fill("role-name", "devices");
    fill("rules", "allow all #");
    press("#save");
    awaitDone("The role was saved. Its rules count for connected clients, too.");
    awaitShown("allow all #");

    view("users", "Users");
    fill("user", "alice");
    fill("password", "secret");
    fill("roles", "devices");
    press("#save");
    awaitDone("The user was saved.");
    await("the row", () -> shown().matches("(?s).*alice\\s+yes\\s+devices\\s+yes.*"));
    assertThat(js("document.getElementById('password').value")).as("it is not kept").isEmpty();

    try (var client = RawClient.connected(broker.port(), connect("pump", "alice", "secret"))) {
      client.subscribe("a", 1);
      press("button[aria-label=\"Change alice\"]");
      assertThat(browser().text("editor-state")).isEqualTo("Changes the user alice.");
      js("document.getElementById('disabled').click()");
      press("#save");
      answer("Refuse the user");
      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(NOT_AUTHORIZED);
      await("the row", () -> shown().matches("(?s).*alice\\s+yes\\s+devices\\s+no.*"));
    }

    press("button[aria-label=\"Delete alice\"]");
    escape();
    assertThat(api.get("/users/alice").status()).isEqualTo(200);
    press("button[aria-label=\"Delete alice\"]");
    answer("Delete");
    awaitDone("alice was deleted.");
    assertThat(api.get("/users").members("name")).isEmpty();
    assertThat(answerTo("pump", "alice", "secret")).isEqualTo(BAD_USER_NAME_OR_PASSWORD);
    nothingWasAskedOfOthersAndNothingFailed();
  }

  @Test
  void whatCannotBeSavedIsRefusedWithASentence() throws Exception {
    put("/users/alice", "{\"password\":\"secret\"}");
    signIn(api.token());
    view("users", "Users");
    fill("user", "alice");
    press("#save");
    awaitTrouble("\"alice\" has version");
    fill("user", "bob");
    fill("roles", "none");
    press("#save");
    awaitTrouble("no role");

    press("button[aria-label=\"Change alice\"]");
    put("/users/alice", "{\"password\":\"other\"}");
    press("#save");
    awaitTrouble("\"alice\" has version");
    view("roles", "Roles");
    fill("role-name", "devices");
    fill("rules", "allow everything");
    press("#save");
    await("the reason", () -> !browser().text("trouble").isEmpty());
    assertThat(api.get("/roles").members("name")).isEmpty();
    assertThat(answerTo("pump", "alice", "other")).isZero();
  }

  @Test
  void aClientIsBannedFromItsViewAndTheBanIsEnded() throws Exception {
    put("/users/alice", "{\"password\":\"secret\"}");
    try (var client = RawClient.connected(broker.port(), connect(HOSTILE, "alice", "secret"))) {
      signIn(Role.OPERATOR);
      view("clients", "Clients");
      press("#view tbody a");
      press("#view a[href^=\"#/bans/\"]");
      await("the client is known", () -> js("document.getElementById('banned')?.value").equals(HOSTILE));

      fill("ban-reason", "loud, " + HOSTILE);
      choose("ban-seconds", "3600");
      press("#ban");
      answer("Ban");

      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
    }
    awaitShown("loud, " + HOSTILE);
    nothingBecameMarkup();
    assertThat(answerTo(HOSTILE, "alice", "secret")).isEqualTo(BANNED);
    assertThat(api.get("/bans/client").members("until").getFirst()).isNotEmpty();

    press("button[aria-label^=\"End the ban\"]");
    answer("End the ban");
    awaitDone("The ban has ended.");
    await("admitted", () -> answerTo(HOSTILE, "alice", "secret") == 0);
    nothingWasAskedOfOthersAndNothingFailed();
  }

  @Test
  void anAddressThatIsNoneIsNotBanned() throws Exception {
    signIn(Role.OPERATOR);
    view("bans/toString/x", "Bans");
    choose("banned-kind", "address");
    fill("banned", "not an address");
    press("#ban");
    answer("Ban");
    await("the reason", () -> browser().text("trouble").contains("address"));
    assertThat(api.get("/bans/address").members("value")).isEmpty();
  }

  @Test
  void aViewerChangesNothing() throws Exception {
    put("/users/alice", "{\"password\":\"secret\"}");
    put("/bans/user/mallory", "{\"reason\":\"loud\"}");
    signIn(Role.VIEWER);
    view("users", "Users");
    awaitShown("alice", "To change users needs the role admin.");
    assertThat(js("document.querySelectorAll('#save, #view tbody button').length")).isEqualTo("0");
    view("roles", "Roles");
    awaitShown("To change roles needs the role admin.");
    view("bans/user", "Bans");
    awaitShown("mallory", "To ban needs the role operator.");
    assertThat(js("document.querySelectorAll('#ban, #view tbody button').length")).isEqualTo("0");
    nothingWasAskedOfOthersAndNothingFailed();
  }
}
