package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.admin.doctor.DoctorMXBean;
import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.admin.peers.AllNodesMXBean.NodeFinding;
import dunlin.harness.ApiCalls;
import dunlin.harness.PacketBytes;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A broker that is examined while it runs; {@code DoctorTest} and those beside it have the checks of a machine. */
class DoctorIT {
  private static final int TOPIC_FILTER_INVALID = 0x8F;

  @TempDir Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    Path data = directory.resolve("data");
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.mqtt.topic-levels-max", "4"));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private JsonObject found(String check) {
    return api.get("/doctor?limit=1000").json().getAsJsonArray("items").asList().stream()
        .map(each -> each.getAsJsonObject())
        .filter(each -> each.get("check").getAsString().equals(check))
        .findFirst()
        .orElseThrow();
  }

  private void verdict(String check, String verdict, String... says) {
    JsonObject found = found(check);
    assertThat(found.get("verdict").getAsString()).as(found.toString()).isEqualTo(verdict);
    for (String each : says) assertThat(found.get("finding").getAsString()).contains(each);
  }

  @Test
  void aListenerThatIsClosedIsFound() {
    verdict("listener tcp", "ok", "accepts connections");
    api.post("/listeners/tcp/close", "");
    verdict("listener tcp", "warning", "accepts no connections");
    api.post("/listeners/tcp/open", "");
    verdict("listener tcp", "ok");
  }

  @Test
  void limitsThatClientsHaveMetAreFound() throws Exception {
    verdict("refusals", "ok");
    try (var client = RawClient.connected(broker.port(), Connect.of("deep"))) {
      client.send(RawClient.SUBSCRIBE, PacketBytes.u16(7), PacketBytes.properties(), "a/b/c/d/#", 1);
      assertThat(client.next(RawClient.SUBACK).reason()).isEqualTo(TOPIC_FILTER_INVALID);
    }
    verdict("refusals", "warning", "dunlin.limits.hit{limit=topic-levels} 1");
    verdict("failures", "ok");
  }

  @Test
  void theBrokersOwnStoreAndBudgetsAreFound() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("meter-1"))) {
      client.subscribe("a", 1);
      client.publishAndWait("a", "b");
    }
    verdict("replicas", "ok", "replicas of ranges");
    verdict("budgets", "ok", "MiB of a heap of");
    verdict("fsync", "warning");
    assertThat(found("commits").get("finding").getAsString()).startsWith("The longest command of the last few minutes took ");
  }

  @Test
  void theBeansFindTheSameAsTheApi() {
    List<String> checks = api.get("/doctor?limit=1000").members("check");
    assertThat(broker.bean("Doctor", DoctorMXBean.class).examine()).extracting(Finding::check).containsExactlyInAnyOrderElementsOf(checks);
    List<NodeFinding> all = broker.bean("AllNodes", AllNodesMXBean.class).examine();
    assertThat(all).extracting(NodeFinding::check).containsExactlyInAnyOrderElementsOf(checks);
    assertThat(all).extracting(NodeFinding::node).containsOnly(api.get("/status").member("node"));
    assertThat(all).extracting(NodeFinding::verdict).isSubsetOf("ok", "warning", "wrong", "unknown");
    assertThat(api.get("/doctor?all=true&limit=1000").members("check")).containsExactlyElementsOf(checks);
    assertThat(api.get("/doctor?all=some").status()).isEqualTo(400);
    assertThat(api.get("/doctor?all=true&limit=2").members("check")).hasSize(2);
  }
}
