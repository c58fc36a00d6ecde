package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.reflect.TypeToken;
import dunlin.TestBroker;
import dunlin.admin.ledger.LedgerMXBean;
import dunlin.admin.ledger.LedgerMXBean.HopRow;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SteadyClients;
import dunlin.runtime.HopLedger;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The loss ledger as operators read it: each reading balances, also while messages are on their way, and all faces show the same. */
class LedgerIT {
  private static final int READINGS = 300;
  private static final int QUOTA_EXCEEDED = 0x97;

  /** Those of which each reading balances. */
  private static final List<String> ACCOUNTS = List.of("publish", "session", "routes");

  /** Those that balance once nothing is on its way, besides. */
  private static final List<String> RESTING = List.of("inbox", "retained", "will");

  @TempDir Path directory;

  private TestBroker broker(Map<String, String> more) {
    Map<String, String> settings = new HashMap<>(Map.of("dunlin.admin.port", "0", "dunlin.store.fsync", "false"));
    settings.putAll(more);
    return TestBroker.on(directory.resolve("data"), settings);
  }

  private static List<HopRow> byHttp(ApiCalls api, String query) {
    Answer answer = api.get("/ledger" + query);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    JsonElement items = answer.json().get("items");
    return new Gson().fromJson(items, new TypeToken<List<HopRow>>() {}.getType());
  }

  private static Map<String, HopRow> byHop(List<HopRow> rows) {
    return rows.stream().collect(Collectors.toMap(HopRow::hop, Function.identity()));
  }

  private static void assertBalanced(HopRow row) {
    assertThat(row.received()).as("%s", row).isEqualTo(row.delivered() + row.unmatched() + row.returned() + row.dropped() + row.inFlight());
    assertDropsAddUp(row);
  }

  private static void assertDropsAddUp(HopRow row) {
    assertThat(row.dropped()).as("%s", row).isEqualTo(row.reasons().values().stream().mapToLong(Long::longValue).sum());
    assertThat(row.reasons().values()).as("%s", row).allMatch(messages -> messages > 0);
  }

  @Test
  void everyReadingUnderLoadBalances() {
    try (TestBroker broker = broker(Map.of("dunlin.session.queue-messages-max", "2"));
        ApiCalls api = ApiCalls.of(directory.resolve("data"));
        RawClient stuck = RawClient.connected(broker.port(), Connect.of("stuck").expiry(0).receiveMaximum(1))) {
      stuck.subscribe("steady/#", 1);
      SteadyClients clients = new SteadyClients();
      RawClient durable = RawClient.connected(broker.port(), Connect.of("durable"));
      durable.subscribe("steady/#", 2);
      clients.receives("durable", 3, durable);
      RawClient lossy = RawClient.connected(broker.port(), Connect.of("lossy").expiry(0));
      lossy.subscribe("steady/#", 0);
      clients.receivesAtMostOnce("lossy", lossy);
      for (int i = 0; i < 3; i++) clients.publishes("steady/" + i, 1 + i % 2, RawClient.connected(broker.port(), Connect.of("publisher-" + i)));
      LedgerMXBean bean = broker.bean("Ledger", LedgerMXBean.class);

      Map<String, HopRow> before = byHop(bean.getHops());
      for (int i = 0; i < READINGS; i++) {
        if (i % 20 == 0) RawClient.connected(broker.port(), Connect.of("passing").expiry(0)).disconnectAfter(client -> client.subscribe("steady/#", 1));
        clients.progress();
        Map<String, HopRow> now = byHop(i % 3 == 0 ? byHttp(api, "?all=true") : bean.getHops());
        for (String hop : ACCOUNTS) {
          assertBalanced(now.get(hop));
          assertThat(now.get(hop).received()).as(hop).isGreaterThanOrEqualTo(before.get(hop).received());
          assertThat(now.get(hop).delivered()).as(hop).isGreaterThanOrEqualTo(before.get(hop).delivered());
          assertThat(now.get(hop).dropped()).as(hop).isGreaterThanOrEqualTo(before.get(hop).dropped());
        }
        before = now;
      }
      assertThat(before.get("session").reasons()).containsKey("queue-full");
      assertThat(before.get("session").inFlight()).as("what the client that is stuck has, at least").isGreaterThanOrEqualTo(3);
      assertThat(before.get("session").received()).isGreaterThan(READINGS);
      clients.check();
      try (RawClient last = RawClient.connected(broker.port(), Connect.of("last").expiry(0))) {
        clients.checkAtMostOnce(last);
      }
      awaitBalance(broker);
      assertThat(byHop(bean.getHops()).get("inbox").delivered()).as("acknowledged by the durable client").isPositive();
      await("all faces").atMost(TestBroker.SOON).untilAsserted(() -> allFacesShowTheSame(broker, api));
    }
  }

  private static void allFacesShowTheSame(TestBroker broker, ApiCalls api) {
    List<HopRow> rows = broker.bean("Ledger", LedgerMXBean.class).getHops();
    assertThat(byHttp(api, "")).isEqualTo(rows);
    assertThat(byHttp(api, "?all=true")).isEqualTo(rows);
    assertThat(broker.bean("AllNodes", AllNodesMXBean.class).ledger()).isEqualTo(new AllNodesMXBean.LedgerOfNodes(rows, List.of()));
    assertAsCounted(byHop(rows).get("publish"), broker.frontend().publishes());
    assertAsCounted(byHop(rows).get("session"), broker.frontend().copies());
  }

  private static void assertAsCounted(HopRow row, HopLedger counted) {
    assertThat(row.unmatched()).isZero();
    assertThat(List.of(row.received(), row.delivered(), row.returned(), row.dropped(), row.inFlight()))
        .containsExactly(counted.received(), counted.delivered(), counted.returned(), counted.dropped(), counted.inFlight());
  }

  private static Map<String, HopRow> awaitBalance(TestBroker broker) {
    LedgerMXBean bean = broker.bean("Ledger", LedgerMXBean.class);
    await("nothing is on its way").atMost(TestBroker.SOON).untilAsserted(
        () -> {
          Map<String, HopRow> rows = byHop(bean.getHops());
          assertThat(rows.keySet()).containsAll(ACCOUNTS).containsAll(RESTING);
          for (HopRow row : rows.values()) {
            if (row.received() == LedgerMXBean.NOT_COUNTED) assertDropsAddUp(row);
            else assertBalanced(row);
          }
        });
    return byHop(bean.getHops());
  }

  private static void absent(TestBroker broker, ApiCalls api) {
    RawClient.connected(broker.port(), Connect.of("absent")).disconnectAfter(client -> client.subscribe("kept", 1));
    await().atMost(TestBroker.SOON).until(() -> api.get("/sessions/absent").member("connected").equals("false"));
  }

  private static void dieWithWill(TestBroker broker) {
    RawClient.connected(broker.port(), Connect.of("leaving").will("kept", "will", 1, 0)).reset();
  }

  @Test
  void whatEachHopDropsIsInAnAccountThatBalances() {
    Map<String, String> small = Map.of("dunlin.inbox.messages-max", "1", "dunlin.retain.messages-max", "1");
    try (TestBroker broker = broker(small);
        ApiCalls api = ApiCalls.of(directory.resolve("data"));
        RawClient publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      absent(broker, api);
      assertThat(awaitBalance(broker).get("inbox").reasons()).isEmpty();

      publisher.publishAndWait("kept", "1");
      publisher.publishAndWait("kept", "2");
      publisher.publish("kept", 0, 0, "3");
      publisher.publishAndWait("unwanted", "4");
      assertThat(publisher.publishAndWait("retained/1", "5", true)).isLessThan(0x80);
      assertThat(publisher.publishAndWait("retained/2", "6", true)).isEqualTo(QUOTA_EXCEEDED);
      dieWithWill(broker);

      await().atMost(TestBroker.SOON).until(() -> byHop(byHttp(api, "")).get("inbox").dropped() == 3);
      Map<String, HopRow> rows = awaitBalance(broker);
      HopRow inbox = rows.get("inbox");
      assertThat(inbox.reasons()).isEqualTo(Map.of("oldest", 2L, "offline", 1L));
      assertThat(List.of(inbox.received(), inbox.delivered(), inbox.returned(), inbox.inFlight())).containsExactly(4L, 0L, 0L, 1L);
      assertThat(rows.get("routes").unmatched()).as("unwanted, and what is retained").isGreaterThanOrEqualTo(3);
      assertThat(rows.get("retained").reasons()).isEqualTo(Map.of("quota-exceeded", 1L));
      assertThat(List.of(rows.get("retained").received(), rows.get("retained").delivered())).containsExactly(2L, 1L);
      assertThat(List.of(rows.get("will").received(), rows.get("will").delivered())).containsExactly(1L, 1L);
      assertThat(byHttp(api, "?limit=1")).hasSize(1);
      assertThat(api.get("/ledger?all=perhaps").status()).isEqualTo(400);
    }
    try (TestBroker again = broker(small);
        ApiCalls api = ApiCalls.of(directory.resolve("data"))) {
      HopRow found = awaitBalance(again).get("inbox");
      assertThat(List.of(found.received(), found.inFlight())).as("what was there at the start").containsExactly(1L, 1L);
      assertThat(api.delete("/sessions/absent").status()).isEqualTo(200);
      await().atMost(TestBroker.SOON).until(() -> byHop(byHttp(api, "")).get("inbox").inFlight() == 0);
      assertThat(awaitBalance(again).get("inbox").reasons()).isEqualTo(Map.of("session-ended", 1L));
    }
  }

  @Test
  void whatAFullInboxRejectsIsInTheAccountsOfPublishesAndWills() {
    try (TestBroker broker = broker(Map.of("dunlin.inbox.messages-max", "1", "dunlin.inbox.overflow", "reject"));
        ApiCalls api = ApiCalls.of(directory.resolve("data"));
        RawClient publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      absent(broker, api);
      publisher.publishAndWait("kept", "1");
      assertThat(publisher.publishAndWait("kept", "2")).isEqualTo(QUOTA_EXCEEDED);
      dieWithWill(broker);

      await().atMost(TestBroker.SOON).until(() -> byHop(byHttp(api, "")).get("will").dropped() == 1);
      Map<String, HopRow> rows = awaitBalance(broker);
      assertThat(rows.get("will").reasons()).isEqualTo(Map.of("quota-exceeded", 1L));
      assertThat(rows.get("publish").reasons()).as("the publish and the will").containsEntry("queue-full", 2L);
      assertThat(rows.get("inbox").reasons()).isEqualTo(Map.of("rejected", 2L));
    }
  }
}
