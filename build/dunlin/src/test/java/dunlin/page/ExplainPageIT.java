package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import org.junit.jupiter.api.Test;

/** What the page says about why a client gets a message or not. */
class ExplainPageIT extends PageOfBroker {
  @Test
  void itSaysWhyAClientGetsAMessageOrNot() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of(HOSTILE))) {
      client.subscribe("news/#", 1);
      signIn(Role.VIEWER);
      view("clients", "Clients");
      press("#view tbody a");
      press("#view a[href^=\"#/explain/\"]");
      await("the client is known", () -> js("document.getElementById('explained-client')?.value").equals(HOSTILE));

      fill("explained-topic", "news/" + HOSTILE);
      browser().press("Enter");

      await("delivered", () -> browser().text("conclusion").startsWith("delivered now: "));
      assertThat(shown()).containsPattern("subscription\\s+passes\\s+The client \\Q" + HOSTILE + "\\E has subscribed to news/#");
      nothingBecameMarkup();
      publish("news/" + HOSTILE, "hello", 1);
      assertThat(client.message().text()).as("and so it is").isEqualTo("hello");

      fill("explained-expiry", "0");
      browser().press("Enter");
      await("expired", () -> browser().text("conclusion").startsWith("dropped: "));
      assertThat(shown()).containsPattern("expiry\\s+stops");
      js("document.getElementById('explained-expiry').value = ''");

      fill("explained-topic", "olds");
      browser().press("Enter");
      await("not delivered", () -> browser().text("conclusion").startsWith("not delivered: "));
      assertThat(shown()).containsPattern("subscription\\s+stops");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void whatCannotBeExplainedIsRefusedWithASentence() throws Exception {
    signIn(Role.VIEWER);
    view("explain/never/default", "Explain");
    fill("explained-topic", "a");
    press("#explain");
    awaitTrouble("The client is not connected, and the tenant default has no session of it");
    assertThat(js("document.getElementById('conclusion').checkVisibility()")).isEqualTo("false");

    fill("explained-topic", "a/#");
    press("#explain");
    await("another reason", () -> browser().text("trouble").contains("wildcard"));
  }
}
