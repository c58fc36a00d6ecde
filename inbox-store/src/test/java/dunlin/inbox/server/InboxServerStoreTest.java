package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the server with the real store, including restarts. */
@ParameterizedClass(name = "{0} ranges")
@ValueSource(ints = {1, 3})
final class InboxServerStoreTest {
  @Parameter int ranges;

  @TempDir Path data;

  private InboxNode node;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(data, ranges, InboxSettings.defaults());
  }

  @AfterEach
  void close() {
    node.close();
  }

  /** Continues with the previous server's data: after a restart, or with the same replicas. */
  private void goOn(boolean restarted) throws Exception {
    if (restarted) node.reopen();
    else node.leadAgain();
  }

  @ParameterizedTest(name = "the node is restarted {0}")
  @ValueSource(booleans = {true, false})
  void anAnsweredMessageIsPushedAndSurvivesARestartAndTheNextLeadership(boolean restarted) throws Exception {
    var session = node.connect("c").session();
    assertThat(node.subscribe(session, "a", QoS.AT_LEAST_ONCE)).containsExactly(false);

    assertThat(node.publish("m1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.pushed).containsExactly("m1");
    node.routes.clear();
    goOn(restarted);
    assertThat(node.routes).as("are announced again").hasSize(1);
    assertThat(node.publish("m2")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.pushed).containsExactly("m1");

    var again = node.connect("c");
    assertThat(again.sessionPresent()).isTrue();
    var page = InboxNode.get(node.server.fetch(again.session(), again.firstUnacknowledged(), 10, 1 << 20));
    assertThat(page.end()).isTrue();
    assertThat(page.messages()).extracting(Connections.InboxMessage::delivered).containsExactly(true, false);
  }

  @ParameterizedTest(name = "the node is restarted {0}")
  @ValueSource(booleans = {true, false})
  void aRestartAndTheNextLeadershipTreatTheConnectionsBeforeThemAsLost(boolean restarted) throws Exception {
    node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 0));
    assertThat(node.gauge("dunlin.inbox.online")).isEqualTo(1);

    goOn(restarted);

    assertThat(node.gauge("dunlin.inbox.online")).isZero();
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1);
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
  }

  /** The state in memory may be older than the changes, as on a node that was not restarted. */
  @Test
  void theNextLeadershipAnnouncesWhatHasChangedSinceTheOneBefore() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    node.leadAgain();
    var again = node.connect("c").session();
    node.subscribe(again, "b", QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.unsubscribe(again, List.of(TopicFilter.parse("a").orElseThrow())));
    await().untilAsserted(() -> assertThat(node.routes).hasSize(1));
    node.routes.clear();

    node.leadAgain();

    assertThat(node.routes).singleElement().asString().endsWith(" b");
  }

  @Test
  void theInboxOfAGroupIsDrainedByAMemberThatConnects() throws Exception {
    var filter = TopicFilter.parse("$share/g/a").orElseThrow();
    assertThat(node.groupCredit(filter)).isZero();
    var session = node.connect("c").session();
    node.subscribe(session, filter.text(), QoS.AT_LEAST_ONCE);
    assertThat(node.groupCredit(filter)).isEqualTo(256);
    InboxNode.get(node.server.disconnect(session, false, 3600));
    assertThat(node.groupCredit(filter)).isEqualTo(1);
    var answers = new ArrayList<InboxNode.Answer>();
    for (int i = 0; i < 1_000; i++) {
      var answer = new InboxNode.Answer();
      answers.add(answer);
      node.deliver(node.message(QoS.AT_LEAST_ONCE, "m" + i), List.of(filter), answer);
    }
    for (InboxNode.Answer answer : answers) assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);

    var again = node.connect("c").session();
    int seen = 0;
    while (seen < 1_000) {
      int from = seen;
      await().until(() -> node.sequences.size() > from);
      int to = node.sequences.size();
      node.server.acknowledge(again, node.sequences.subList(from, to).stream().mapToLong(Long::longValue).toArray());
      seen = to;
    }

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
    assertThat(node.pushed).hasSize(1_000).doesNotHaveDuplicates().startsWith("m0", "m1").endsWith("m999");
    node.assertBalance();
  }

  @Test
  void expiredSessionsAreRemovedWithAllTheirState() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.disconnect(session, false, 60));
    for (int i = 0; i < 20; i++) assertThat(node.publish("m" + i)).isEqualTo(ReasonCode.SUCCESS);

    node.now.addAndGet(60_000);

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
    await().untilAsserted(() -> assertThat(node.routes).isEmpty());
    assertThat(node.count("dunlin.inbox.dropped", "reason", "session-ended")).isEqualTo(20);
    node.assertBalance();
  }
}
