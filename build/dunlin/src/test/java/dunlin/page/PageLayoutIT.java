package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the views look like; with {@code -Ddocs.write=true}, the pictures of the page in the documents are drawn here. */
class PageLayoutIT extends PageOfBroker {
  private static final boolean DRAWN = Boolean.getBoolean("docs.write");
  private static final int SECONDS_DRAWN = 25;

  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.inbox.messages-max", "12");
  }

  private static void window(int width, int height) throws Exception {
    browser().call("Emulation.setDeviceMetricsOverride", "{\"width\": %d, \"height\": %d, \"deviceScaleFactor\": 1, \"mobile\": false}".formatted(width, height));
  }

  private static void draw(String name) throws Exception {
    if (DRAWN) browser().screenshot(Path.of("../../docs").resolve(name));
  }

  @Test
  void noViewIsWiderThanTheWindowWhateverNamesAreIn() throws Exception {
    String longName = "n".repeat(1_000);
    absent("durable-" + longName, "$share/" + longName + "/" + longName, longName);
    try (var client = RawClient.connected(broker.port(), Connect.of(longName))) {
      client.subscribe(longName + "/#", 1);
      client.publishAndWait(longName, longName, true);
      String trace = api.post("/traces", "{\"topic\":\"%s\"}".formatted(longName)).member("trace");
      client.publishAndWait(longName, longName);
      signIn(api.token());
      try {
        for (int width : List.of(1_280, 360)) {
          window(width, 800);
          for (String hash :
              List.of(
                  "overview", "doctor", "top", "blocks", "clients", "clients/" + longName + "/default", "sessions", "sessions/durable-" + longName + "/default", "topics", "retained", "messages",
                  "tenants", "operators", "explain/" + longName + "/default", "traces", "traces/" + trace, "cluster", "listeners", "settings")) {
            js("location.hash = '#/" + hash + "'");
            await(hash, () -> js("document.getElementById('view').childElementCount").compareTo("0") > 0 && js("document.querySelectorAll('#view tbody tr').length > 0 || !'" + hash + "'.match(/^(clients|sessions|topics|retained|traces)/)").equals("true"));
            assertThat(js("document.documentElement.scrollWidth - document.documentElement.clientWidth")).as("%s at %d", hash.substring(0, Math.min(20, hash.length())), width).isEqualTo("0");
          }
        }
      } finally {
        browser().call("Emulation.clearDeviceMetricsOverride", "{}");
      }
    }
  }

  /** A plant whose meters publish to a display, to workers and to sessions of which some are absent and one is full. */
  @Test
  void theViewsOfABusyBrokerHaveItsFigures() throws Exception {
    for (int i = 0; i < 12; i++) absent("meter-%02d".formatted(i), "to/meter-%02d".formatted(i));
    absent("archive", "plant/+/alarm");
    absent("worker-1", "$share/workers/jobs/#");
    absent("worker-2", "$share/workers/jobs/#");
    publish("jobs/report", "{\"day\": 7}", 10);
    publish("plant/7/alarm", "door open", 20);
    String trace = api.post("/traces", "{\"topic\":\"plant/7/#\"}").member("trace");
    List<RawClient> displays = new ArrayList<>();
    try (var plant = RawClient.connected(broker.port(), Connect.of("plant-7").expiry(0))) {
      for (int i = 0; i < 6; i++) {
        displays.add(RawClient.connected(broker.port(), Connect.of("display-" + i).expiry(0)));
        displays.getLast().subscribe("plant/#", 0);
      }
      window(1_180, 700);
      signIn(DRAWN ? api.token() : tokenOf(Role.VIEWER));
      long end = System.nanoTime() + (DRAWN ? SECONDS_DRAWN : 0) * 1_000_000_000L;
      await(
          "figures",
          () -> {
            for (int i = 0; i < 50; i++) plant.publishAndWait("plant/7/temperature", "21.5");
            for (RawClient display : displays) display.untilPong();
            return browser().text("publishes-out").matches("[1-9].*") && shown().contains("inbox") && System.nanoTime() >= end;
          });
      draw("page-overview.png");
      browser().prefer("dark");
      draw("page-overview-dark.png");
      browser().prefer("light");

      view("topics", "Topics and groups");
      await("the group", () -> browser().text("groups").matches("(?s).*workers/jobs/#\\s+0\\s+2\\s+0\\s+10\\s.*"));
      browser().prefer("dark");
      view("sessions/archive/default", "Sessions");
      await("its messages", () -> shown().contains("1 to 12"));
      assertThat(browser().text("session")).contains("Waiting messages\n12");
      draw("page-session.png");
      browser().prefer("light");
      view("clients/display-0/default", "Clients");
      awaitShown("plant/#");
      draw("page-client.png");

      view("traces/" + trace, "Traces");
      await("the way of a message", () -> browser().text("lines").contains("forwarded"));
      view("explain/display-0/default", "Explain");
      fill("explained-topic", "plant/7/temperature");
      browser().press("Enter");
      await("the explanation", () -> browser().text("conclusion").startsWith("delivered now"));
      draw("page-explain.png");
      nothingWasAskedOfOthersAndNothingFailed();
    } finally {
      displays.forEach(RawClient::close);
      browser().call("Emulation.clearDeviceMetricsOverride", "{}");
      browser().prefer("light");
    }
  }
}
