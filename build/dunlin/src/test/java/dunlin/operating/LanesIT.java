package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.LaneFigure;
import dunlin.broker.LanesMXBean;
import dunlin.broker.LanesMXBean.LaneRow;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lanes of a node as operators see them. */
class LanesIT {
  private static final int MESSAGES = 6;

  @TempDir Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    broker =
        TestBroker.on(
            directory.resolve("data"),
            Map.of("dunlin.session.queue-messages-max", "2", "dunlin.shared.wait", "5m", "dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory.resolve("data"));
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private LanesMXBean bean() {
    return broker.bean("Lanes", LanesMXBean.class);
  }

  private static long first(Answer answer, String member) {
    return Long.parseLong(answer.members(member).getFirst());
  }

  @Test
  void aLaneWithAPublishThatIsNotAcknowledgedComesFirst() throws Exception {
    try (var member = RawClient.connected(broker.port(), Connect.of("member").expiry(0).receiveMaximum(1));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      member.subscribe("$share/team/group", 1);
      for (int id = 1; id <= MESSAGES; id++) publisher.publish("group", 1, id, "payload");

      await("messages for which no member has room").atMost(TestBroker.SOON).until(() -> first(api.get("/top/lanes?by=oldest"), "oldestMillis") > 0);
      Answer byAge = api.get("/top/lanes?by=oldest");
      Answer byMessages = api.get("/top/lanes?by=messages");
      assertThat(byMessages.members("lane").getFirst()).isEqualTo(byAge.members("lane").getFirst());
      assertThat(first(byMessages, "messages")).isBetween(1L, (long) MESSAGES);
      assertThat(first(api.get("/top/lanes?by=bytes"), "bytes")).isPositive();
      assertThat(byMessages.members("lane")).as("all lanes, those with nothing too").doesNotHaveDuplicates().hasSize(bean().top(LaneFigure.HELD, 100).size());
      assertThat(byMessages.members("node")).containsOnly(broker.node().nodeId());

      List<LaneRow> byJmx = bean().top(LaneFigure.MESSAGES, 100);
      assertThat(byJmx.stream().map(row -> Long.toString(row.messages())).toList()).isEqualTo(byMessages.members("messages"));
      for (int i = 0; i < MESSAGES; i++) member.puback(member.next(RawClient.PUBLISH).packetId());
      await("all acknowledged").atMost(TestBroker.SOON).until(
          () -> bean().top(LaneFigure.OLDEST, 1).getFirst().oldestMillis() == 0 && bean().top(LaneFigure.MESSAGES, 1).getFirst().messages() == 0);
    }
  }

  @Test
  void lanesAreComparedByTheirRates() throws Exception {
    AtomicBoolean stopped = new AtomicBoolean();
    try (var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      Thread publishing =
          Thread.ofVirtual()
              .start(
                  () -> {
                    while (!stopped.get()) publisher.publishAndWait("t", "");
                  });
      try {
        await().atMost(TestBroker.SOON).until(() -> first(api.get("/top/lanes"), "perSecond") > 0);
        assertThat(bean().top(LaneFigure.RATE, 100)).extracting(LaneRow::perSecond).isSortedAccordingTo(Comparator.reverseOrder()).allMatch(rate -> rate >= 0);
      } finally {
        stopped.set(true);
        publishing.join();
      }
    }
  }

  @Test
  void whatIsOutOfBoundsIsRefused() {
    for (String wrong : List.of("by=name", "limit=0", "limit=101", "cursor=a")) assertThat(api.get("/top/lanes?" + wrong).status()).as(wrong).isEqualTo(400);
    assertThat(api.get("/top/lanes?limit=1").members("lane")).hasSize(1);
    for (int max : List.of(0, 101)) assertThatThrownBy(() -> bean().top(LaneFigure.RATE, max)).isInstanceOf(IllegalArgumentException.class);
  }
}
