package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import org.junit.jupiter.api.Test;

/** What the page shows of shared groups, and of the routes of a topic. */
class TopicsPageIT extends PageOfBroker {
  @Test
  void groupsHaveTheirMembersAndWhatWaitsForThem() throws Exception {
    absent("worker-1", "$share/workers/jobs/#");
    absent("worker-2", "$share/workers/jobs/#");
    absent("worker-3", "$oshare/" + HOSTILE + "/other");
    try (var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      client.subscribe("$share/online/jobs/1", 0);
      publish("jobs/2", "work", 5);
      signIn(Role.VIEWER);

      view("topics", "Topics and groups");

      await("three groups", () -> js("document.querySelectorAll('#groups tbody tr').length").equals("3"));
      String groups = browser().text("groups");
      assertThat(groups).containsPattern("\\$share/workers/jobs/#\\s+0\\s+2\\s+0\\s+5\\s+[0-9.]+ K?i?B\\s+yes");
      assertThat(groups).containsPattern("\\$share/online/jobs/1\\s+1\\s+0\\s+0\\s+0\\s+0 B\\s+yes");
      assertThat(groups).contains("$oshare/" + HOSTILE + "/other");
      press("#groups tbody button");
      await("the member", () -> browser().text("subscribers").contains("worker-3"));
      nothingBecameMarkup();
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void theRoutesOfATopicAreShown() throws Exception {
    absent("meter", "plant/+");
    absent("worker", "$share/workers/plant/#");
    try (var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      client.subscribe("plant/7", 0);
      signIn(Role.VIEWER);
      view("topics", "Topics and groups");

      fill("routed", "plant/7");
      browser().press("Enter");

      await("three routes", () -> js("document.querySelectorAll('#routes tbody tr').length").equals("3"));
      String routes = browser().text("routes");
      assertThat(routes).containsPattern("plant/7\\s+–\\s+connected clients of the node\\s+" + api.get("/routes?topic=plant/7").members("shard").getLast());
      assertThat(routes).containsPattern("\\$share/workers/plant/#\\s+workers\\s+shard of durable sessions");
      await("three subscribers", () -> js("document.querySelectorAll('#subscribers tbody tr').length").equals("3"));
      assertThat(browser().text("subscribers")).containsPattern("meter\\s+plant/\\+").contains("worker");
      nothingWasAskedOfOthersAndNothingFailed();

      fill("routed", "plant/#");
      browser().press("Enter");
      awaitTrouble("has no wildcards");
    }
  }
}
