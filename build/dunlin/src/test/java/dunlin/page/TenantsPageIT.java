package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tenants on the page, beside what their clients see. */
class TenantsPageIT extends PageOfBroker {
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final int BANNED = 0x8A;
  private static final int QUOTA_EXCEEDED = 0x97;

  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.auth.users.enabled", "true", "dunlin.tenants.from-user-name", "true");
  }

  private static byte[] connect(String clientId) {
    return RawClient.connect(5, 0xC0, 0, RawClient.properties(RawClient.sessionExpiry(3_600)), clientId, "alice@blue", "secret");
  }

  private int reasonFor(String clientId) {
    try (var client = new RawClient(broker.port())) {
      client.send(connect(clientId));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  private void aliceOfBlue() {
    put("/roles/all", "{\"rules\":\"allow all #\"}");
    put("/users/alice@blue", "{\"password\":\"secret\",\"roles\":\"all\"}");
  }

  @Test
  void aTenantIsMadeLimitedSuspendedResumedAndDeletedAfterItsNameWasTyped() throws Exception {
    aliceOfBlue();
    signIn(api.token());
    view("tenants", "Tenants");
    fill("tenant-name", "blue");
    fill("limits", "connections=1");
    press("#create");
    await("its view", () -> js("location.hash").equals("#/tenants/blue"));
    awaitShown("connections=1", "0 to this node, 0 to all nodes");

    try (var client = RawClient.connected(broker.port(), connect("a"))) {
      client.publishAndWait("kept", "value", true);
      assertThat(reasonFor("b")).isEqualTo(QUOTA_EXCEEDED);
      press("#refresh");
      awaitShown("1 to this node, 1 to all nodes", "Sessions\n1");
      assertThat(shown()).containsPattern("connections\\s+1");

      fill("limits", "connections=5,qos=1");
      press("#save");
      awaitDone("The limits were saved. They count at all nodes within a second.");
      awaitShown("connections=5, qos=1");
      await("the new limit", () -> reasonFor("b") == 0);

      press("#suspend");
      escape();
      client.ping();
      press("#suspend");
      answer("Suspend");
      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
    }
    awaitDone("The tenant is suspended.");
    awaitShown("State\nsuspended");
    assertThat(reasonFor("a")).isEqualTo(BANNED);
    press("#resume");
    awaitDone("The tenant is resumed. Its clients may connect again.");
    await("resumed", () -> reasonFor("a") == 0);

    press("#view a[href=\"#/sessions//blue\"]");
    await("its sessions", () -> rows() == 2 && browser().text("title").equals("Sessions"));
    view("retained//blue", "Retained messages");
    awaitShown("kept");
    view("tenants/blue", "Tenants");

    press("#delete");
    await("the question", () -> focused().equals("question-name"));
    assertThat(js("document.getElementById('question-yes').disabled")).isEqualTo("true");
    browser().type("blu");
    browser().press("Enter");
    assertThat(js("document.getElementById('question-yes').disabled + ',' + document.getElementById('question').open")).as("not yet").isEqualTo("true,true");
    browser().type("e");
    browser().press("Enter");
    awaitDone("The tenant is being deleted. Its record is there until nothing else is left.");
    nothingWasAskedOfOthersAndNothingFailed();
    await("its end", () -> pressedAgain() && shown().contains("The tenant blue has no record."));
    assertThat(api.get("/tenants").members("name")).isEmpty();
    assertThat(api.get("/sessions?tenant=blue").members("clientId")).isEmpty();
    assertThat(js("document.getElementById('delete').checkVisibility()")).isEqualTo("false");
  }

  private static boolean pressedAgain() throws Exception {
    press("#refresh");
    return true;
  }

  /** Names that were typed for another question do not count. */
  @Test
  void aQuestionWithoutANameNeedsNone() throws Exception {
    put("/tenants/blue", "{}");
    signIn(api.token());
    view("tenants/blue", "Tenants");
    awaitShown("State\nactive");
    press("#delete");
    fill("question-name", "blue");
    escape();
    press("#delete");
    await("the field is empty", () -> js("document.getElementById('question').open && document.getElementById('question-name').value === ''").equals("true"));
    assertThat(js("document.getElementById('question-yes').disabled")).isEqualTo("true");
    escape();

    press("#suspend");
    await("the question", () -> focused().equals("question-no"));
    assertThat(js("document.getElementById('question-name').checkVisibility()")).isEqualTo("false");
    answer("Suspend");
    awaitShown("State\nsuspended");
    assertThat(api.get("/tenants/blue").member("state")).isEqualTo("suspended");
  }

  @Test
  void whatCannotBeSavedIsRefusedWithASentence() throws Exception {
    put("/tenants/blue", "{}");
    signIn(api.token());
    view("tenants", "Tenants");
    for (String[] wrong : new String[][] {{"no/name", "", "the name of a tenant"}, {"green", "speed=1", "speed"}, {"blue", "", "version"}}) {
      fill("tenant-name", wrong[0]);
      js("document.getElementById('limits').value = '%s'".formatted(wrong[1]));
      press("#create");
      await(wrong[2], () -> browser().text("trouble").toLowerCase(Locale.ROOT).contains(wrong[2]));
    }
    assertThat(api.get("/tenants").members("name")).containsExactly("blue");

    view("tenants/blue", "Tenants");
    awaitShown("State\nactive");
    put("/tenants/blue", "{\"limits\":\"qos=1\"}");
    fill("limits", "qos=2");
    press("#save");
    awaitTrouble("version");
    view("tenants/never", "Tenants");
    awaitShown("The tenant never has no record.");
    assertThat(api.get("/tenants/blue").member("limits")).as("that of the faster one").isEqualTo("qos=1");
  }

  @Test
  void rolesHaveTheButtonsOfWhatTheyMayDo() throws Exception {
    put("/tenants/blue", "{\"limits\":\"qos=1\"}");
    signIn(Role.VIEWER);
    view("tenants", "Tenants");
    awaitShown("qos=1", "To create a tenant needs the role admin.");
    press("#view tbody a");
    awaitShown("State\nactive", "To suspend needs the role operator, to change limits and to delete admin.");
    assertThat(js("document.querySelectorAll('#suspend, #resume, #delete').length + ',' + document.getElementById('save').checkVisibility()")).isEqualTo("0,false");

    String operator = tokenOf(Role.OPERATOR);
    press("#sign-out");
    await("the form", () -> focused().equals("token"));
    browser().type(operator);
    browser().press("Enter");
    view("tenants/blue", "Tenants");
    awaitShown("State\nactive", "To change limits and to delete needs the role admin.");
    assertThat(js("document.querySelectorAll('#delete').length + ',' + document.getElementById('save').checkVisibility()")).isEqualTo("0,false");
    press("#suspend");
    answer("Suspend");
    awaitShown("State\nsuspended");
    nothingWasAskedOfOthersAndNothingFailed();
  }
}
