package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The doctor on the page, and what keeps the broker busy. */
class BusyPageIT extends PageOfBroker {
  private static final String DOCTOR_IS_DONE = "(?s)[0-9]+ checks: .*";
  private static final List<String> WORST_FIRST = List.of("wrong", "warning", "unknown", "ok");

  private static List<String> column(int number) throws Exception {
    return List.of(js("[...document.querySelectorAll('#view tbody tr')].map(row => row.children[" + number + "].textContent).join('|')").split("\\|"));
  }

  @Test
  void theDoctorsFindingsAreShownTheWorstFirst() throws Exception {
    signIn(Role.VIEWER);
    view("doctor", "Doctor");
    await("findings", () -> browser().text("doctor-state").matches(DOCTOR_IS_DONE));

    assertThat(column(0)).containsExactlyInAnyOrderElementsOf(api.get("/doctor").members("check"));
    assertThat(column(2)).isSortedAccordingTo(Comparator.comparingInt(WORST_FIRST::indexOf)).isSubsetOf(WORST_FIRST);
    int checks = rows();

    js("document.getElementById('all-nodes').click()");
    await("findings of all nodes", () -> browser().text("doctor-state").matches(DOCTOR_IS_DONE) && js("document.getElementById('examine').disabled").equals("false"));
    assertThat(rows()).as("this node is the only one").isGreaterThanOrEqualTo(checks);
    nothingWasAskedOfOthersAndNothingFailed();
  }

  @Test
  void topNamesTheClientsAndSessionsThatHaveMost() throws Exception {
    absent("archive", "busy/#");
    try (var slow = RawClient.connected(broker.port(), Connect.of(HOSTILE).expiry(0).receiveMaximum(1))) {
      slow.subscribe("busy/#", 1);
      publish("busy/1", "x", 7);
      signIn(Role.VIEWER);
      view("top", "Top");

      await("the client with its queue", () -> browser().text("top-clients").matches("(?s).*\\Q" + HOSTILE + "\\E\\s+6, [0-9]+ B\\s+1.*"));
      await("the session with its inbox", () -> browser().text("top-sessions").matches("(?s).*archive\\s+no\\s+7\\s+.*"));
      await("lanes", () -> Integer.parseInt(js("document.querySelectorAll('#top-lanes tbody tr').length")) > 0);
      choose("lanes-by", "held");
      await("queues", () -> browser().text("queues").contains("oldest") && Integer.parseInt(js("document.querySelectorAll('#queues tbody tr').length")) > 0);
      nothingBecameMarkup();
      absent("packrat", "busy/#", "others/#");
      choose("sessions-by", "subscriptions");
      await("another order", () -> browser().text("top-sessions").matches("(?s).*packrat.*archive.*"));
      assertThat(shown()).contains("To sample messages needs the role operator.");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void aSampleNamesTheTopicsThatAreBusy() throws Exception {
    var enough = new CountDownLatch(1);
    Thread publishing =
        Thread.ofVirtual()
            .start(
                () -> {
                  while (enough.getCount() > 0) publish("busy/" + HOSTILE, "x", 1_000);
                });
    try {
      signIn(Role.OPERATOR);
      view("top", "Top");
      await(
          "a sample",
          () -> {
            if (js("document.getElementById('sample').disabled").equals("false")) press("#sample");
            return shown().contains("busy/" + HOSTILE);
          });
      nothingBecameMarkup();
      assertThat(shown()).contains("100 %");
      nothingWasAskedOfOthersAndNothingFailed();
    } finally {
      enough.countDown();
      publishing.join();
    }
  }
}
