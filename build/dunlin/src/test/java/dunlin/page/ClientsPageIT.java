package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the page shows of clients, and of a client's subscriptions and messages. */
class ClientsPageIT extends PageOfBroker {
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final int ROWS_OF_PAGE = 100;

  @Test
  void clientsAreListedByPagesAndFiltered() throws Exception {
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int i = 0; i < ROWS_OF_PAGE + 20; i++) clients.add(RawClient.connected(broker.port(), Connect.of("meter-%03d".formatted(i))));
      clients.add(RawClient.connected3(broker, "van/1"));
      signIn(Role.VIEWER);

      view("clients", "Clients");
      await("a page", () -> rows() == ROWS_OF_PAGE);
      assertThat(shown()).contains("1 to 100", "meter-000", "127.0.0.1", "5.0").doesNotContain("meter-100");
      js("[...document.querySelectorAll('#view button')].find(each => each.textContent === 'Next page').click()");
      awaitShown("101 to 121", "van/1");

      js("document.querySelector('#view input').focus()");
      browser().type("van");
      browser().press("Enter");
      await("the filter", () -> rows() == 1 && shown().contains("3.1.1"));
      nothingWasAskedOfOthersAndNothingFailed();
    } finally {
      clients.forEach(RawClient::close);
    }
  }

  @Test
  void aClientIsShownWithItsSubscriptionsAndItsQueue() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("meter 7").receiveMaximum(1))) {
      client.subscribe("to/#", 1);
      client.subscribe("news", 2 | 4 | 8 | 0x20);
      publish("to/meter", "hello", 3);
      assertThat(client.message().text()).as("which is not acknowledged").isEqualTo("hello");
      signIn(api.token());

      view("clients", "Clients");
      press("#view tbody a");

      await("the client", () -> browser().text("client-id").equals("meter 7"));
      assertThat(browser().text("client")).contains("Connected from\n127.0.0.1", "In flight to it\n1 of Receive Maximum 1", "Version of MQTT\n5.0");
      awaitShown("to/#");
      assertThat(shown()).containsPattern("news\\s+2\\s+yes\\s+yes\\s+never\\s+–");
      await("what is in flight", () -> browser().text("in-flight").contains("sent, not acknowledged"));
      await("the inbox", () -> js("document.querySelectorAll('button.topic').length").equals("3"));
      assertThat(shown()).containsPattern("to/meter\\s+publisher\\s+1\\s+5 B");
      press("button.topic");
      await("the payload", () -> browser().text("waiting-payload").equals("hello"));
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void anAbsentSessionHasItsFirstMessages() throws Exception {
    absent("meter-7", "to/#");
    publish("to/meter", "hello", 120);
    signIn(api.token());

    view("sessions/meter-7/default", "Sessions");

    await("a page of messages", () -> js("document.querySelectorAll('button.topic').length").equals("100"));
    assertThat(browser().text("session")).contains("Connected\nno", "Waiting messages\n120");
    assertThat(js("document.getElementById('disconnect').hidden")).isEqualTo("true");
    assertThat(api.get("/sessions/meter-7").member("messages")).as("they stay").isEqualTo("120");
    view("clients/meter-7/default", "Clients");
    awaitShown("is not connected");
    assertThat(js("document.getElementById('disconnect').checkVisibility()")).isEqualTo("false");
  }

  @Test
  void aClientIsDisconnectedAfterAQuestion() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("van-1"))) {
      signIn(Role.OPERATOR);
      view("clients/van-1/default", "Clients");
      await("the client", () -> browser().text("client-id").equals("van-1"));

      press("#disconnect");
      escape();
      client.ping();
      press("#disconnect");
      answer("Disconnect the client");

      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
      awaitDone("The client was disconnected.");
      awaitShown("is not connected");
      press("#view a[href=\"#/sessions/van-1/default\"]");
      await("its session", () -> browser().text("session").contains("Connected\nno"));
    }
  }

  @Test
  void aClientThatIsNotThereIsSaid() throws Exception {
    var client = RawClient.connected(broker.port(), Connect.of("van-1"));
    signIn(api.token());
    view("clients/van-1/default", "Clients");
    await("the client", () -> browser().text("client-id").equals("van-1"));
    client.disconnect();

    press("#disconnect");
    answer("Disconnect the client");

    awaitTrouble("No client of the tenant default with this client identifier is connected.");
    view("clients/never/default", "Clients");
    awaitShown("is not connected");
    view("sessions/never/default", "Sessions");
    awaitTrouble("The tenant default has no session of this client identifier.");
  }

  @Test
  void whatClientsSayIsText() throws Exception {
    byte[] properties = RawClient.properties(RawClient.bytes(RawClient.USER_PROPERTY, HOSTILE, HOSTILE), RawClient.bytes(RawClient.CONTENT_TYPE, HOSTILE));
    try (var client = RawClient.connected(broker.port(), Connect.of(HOSTILE).receiveMaximum(1))) {
      client.subscribe("</td>/" + HOSTILE, 1);
      client.send(RawClient.PUBLISH | 2, "</td>/" + HOSTILE, RawClient.u16(7), properties, HOSTILE.getBytes(StandardCharsets.UTF_8));
      client.next(RawClient.PUBACK);
      signIn(api.token());

      view("clients", "Clients");
      awaitShown(HOSTILE);
      nothingBecameMarkup();
      press("#view tbody a");
      await("the client", () -> browser().text("client-id").equals(HOSTILE));
      await("the message", () -> js("document.querySelectorAll('button.topic').length").equals("1"));
      press("button.topic");
      await("the payload", () -> browser().text("waiting-payload").equals(HOSTILE));
      assertThat(shown()).contains("</td>/" + HOSTILE);
      press("#disconnect");
      await("the question", () -> browser().text("question-text").contains(HOSTILE));
      nothingBecameMarkup();
      escape();
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void aViewerSeesNoPayloadsAndNoButtonsThatChangeSomething() throws Exception {
    absent("meter-7", "to/#");
    publish("to/meter", "secret", 1);
    try (var _ = RawClient.connected(broker.port(), Connect.of("van-1"))) {
      signIn(Role.VIEWER);
      view("clients/van-1/default", "Clients");
      await("the client", () -> browser().text("client-id").equals("van-1"));
      assertThat(js("document.querySelectorAll('#view .grave').length")).isEqualTo("0");
      assertThat(shown()).contains("To disconnect clients needs the role operator.").doesNotContain("Ban it", "Trace its messages");
      view("sessions/meter-7/default", "Sessions");
      awaitShown("to/meter");
      assertThat(js("document.querySelectorAll('#view .grave, #view .topic').length")).isEqualTo("0");
      assertThat(shown()).contains("To see payloads needs the role operator.");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }
}
