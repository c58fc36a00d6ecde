package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** A frontend that keeps its connections comes over another link, to the same leader or the next one. */
@ParameterizedClass(name = "{0} ranges")
@ValueSource(ints = {1, 3})
final class KeptFrontendTest {
  @Parameter int ranges;

  private InboxNode node;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, ranges, InboxSettings.defaults());
  }

  @AfterEach
  void close() {
    node.close();
  }

  private double online() {
    return node.gauge("dunlin.inbox.online");
  }

  private static void assertRefused(CompletableFuture<?> call, String why) {
    assertThatThrownBy(() -> InboxNode.get(call)).hasCauseInstanceOf(StoreException.class).hasMessageContaining(why);
  }

  /** As when another node leads: what was in memory beside the rows is gone. */
  private void nextLeader() throws Exception {
    InboxNode.get(node.reopenWithoutFrontend());
  }

  @Test
  void theNextLeaderServesTheConnectionsThatItHasKept() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    var session = one.subscribed("c2").session();
    nextLeader();
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(next.questions.stream().flatMap(List::stream)).hasSize(2);
    assertThat(next.comparisons).hasValue(1);
    assertThat(next.compared).hasValue(1);
    assertThat(online()).isEqualTo(2);
    node.publish("m");
    assertThat(next.pushed).containsExactlyInAnyOrder("1 m", "2 m");
    InboxNode.get(node.server.released(session, 0, 1));
    next.connect("c3");
    assertThat(online()).isEqualTo(3);
  }

  @Test
  void aConnectionThatItDoesNotHaveIsLost() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    InboxNode.get(one.connecting("c2", new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 0)));
    nextLeader();
    var next = one.overAnotherLink();
    next.there.remove(2L);

    InboxNode.get(next.resume());

    await().untilAsserted(() -> assertThat(online()).isEqualTo(1));
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(2);
  }

  @Test
  void aConnectionWithAnotherEpochIsLost() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    nextLeader();
    var next = one.overAnotherLink();
    next.there.computeIfPresent(1L, (_, epoch) -> epoch + 1);

    InboxNode.get(next.resume());

    await().untilAsserted(() -> assertThat(online()).isZero());
  }

  @Test
  void aSessionThatWasTakenOverBeforeIsNotAskedFor() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    one.subscribed("c2");
    nextLeader();
    var two = TestFrontend.attached(node, "two", 1);
    two.connect("c1");
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(next.questions.stream().flatMap(List::stream).map(owner -> owner.connection())).containsExactly(2L);
    assertThat(online()).isEqualTo(2);
    node.publish("m");
    assertThat(two.pushed).containsExactly("1 m");
    assertThat(next.pushed).containsExactly("2 m");
  }

  @Test
  void aSessionThatIsTakenOverWhileItIsComparedIsSaidToBe() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    nextLeader();
    var two = TestFrontend.attached(node, "two", 1);
    var next = one.overAnotherLink();
    next.answers = new CompletableFuture<>();
    var resumed = next.resume();
    await().until(() -> !next.questions.isEmpty());

    two.connect("c1");
    next.answers.complete(null);

    InboxNode.get(resumed);
    assertThat(next.displaced).containsExactly(1L);
    node.publish("m");
    assertThat(two.pushed).containsExactly("1 m");
    assertThat(next.pushed).isEmpty();
  }

  @Test
  void noSessionGetsAConnectionOfItBeforeItIsCompared() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    nextLeader();
    var next = one.overAnotherLink();
    next.answers = new CompletableFuture<>();
    var resumed = next.resume();
    await().until(() -> !next.questions.isEmpty());

    assertRefused(next.connecting("c2", null), "not attached with incarnation 7");
    assertThat(next.compared).hasValue(0);

    next.answers.complete(null);
    InboxNode.get(resumed);
    next.connect("c2");
  }

  @Test
  void manyConnectionsAreSeveralQuestions() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    int sessions = 2 * Comparison.QUESTION_MAX + 1;
    var connecting = new ArrayList<CompletableFuture<Connected>>();
    for (int i = 0; i < sessions; i++) connecting.add(one.connecting("c" + i, null));
    for (var each : connecting) InboxNode.get(each);
    node.connect("another frontend's");
    nextLeader();
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(next.questions).hasSizeGreaterThanOrEqualTo(3).allMatch(question -> question.size() <= Comparison.QUESTION_MAX);
    assertThat(next.questions.stream().flatMap(List::stream).map(owner -> owner.connection()))
        .containsExactlyInAnyOrderElementsOf(LongStream.rangeClosed(1, sessions).boxed().toList());
    assertThat(online()).isEqualTo(sessions + 1);
  }

  @Test
  void theSameLeaderTakesALaterLinkInPlaceOfAnEarlierOne() throws Exception {
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(one.resume());
    one.subscribed("c1");
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(online()).isEqualTo(1);
    node.publish("m");
    assertThat(one.pushed).isEmpty();
    assertThat(next.pushed).containsExactly("1 m");
  }

  @Test
  void aConnectOfTheEarlierLinkIsFoundToBeMissing() throws Exception {
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(one.resume());
    node.local().full = true;
    var connecting = one.connecting("c1", null);
    var next = one.overAnotherLink();
    var resumed = next.resume();

    node.local().hasRoom();

    InboxNode.get(resumed);
    assertRefused(connecting, "not attached with incarnation 7");
    await().untilAsserted(() -> assertThat(online()).isZero());
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1);
  }

  @Test
  void afterItWasDetachedNothingIsLeftToCompare() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    InboxNode.get(one.detach());
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(next.questions).isEmpty();
    assertThat(next.compared).as("it ends all that it has").hasValue(1);
    assertThat(online()).isZero();
  }

  @Test
  void oneThatDoesNotAnswerIsNotAttachedAndMayComeAgain() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    nextLeader();
    var silent = one.overAnotherLink();
    silent.answers = CompletableFuture.failedFuture(new StoreException("the link is lost"));
    assertRefused(silent.resume(), "the link is lost");
    assertThat(silent.compared).hasValue(0);
    assertThat(online()).isEqualTo(1);
    var next = one.overAnotherLink();

    InboxNode.get(next.resume());

    assertThat(online()).isEqualTo(1);
  }

  @Test
  void aRangeThatRefusesDoesNotLoseConnections() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c1");
    nextLeader();
    node.local().refusing = SessionCommand.FrontendGone.class;
    var next = one.overAnotherLink();
    assertRefused(next.resume(), "refused");
    node.server.await("one", 7, next);
    node.local().refusing = null;

    InboxNode.get(one.overAnotherLink().resume());

    assertThat(online()).isEqualTo(1);
  }

  @Test
  void oneThatIsWaitedForAndDoesNotComeIsDetached() throws Exception {
    node.lease = Duration.ofMillis(1);
    nextLeader();
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(one.resume());
    one.subscribed("c1");

    node.server.await("one", 7, one);

    await().untilAsserted(() -> assertThat(online()).isZero());
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1);
  }

  @Test
  void oneThatIsWaitedForAndIsThereStays() throws Exception {
    node.lease = Duration.ofMillis(1);
    nextLeader();
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(one.resume());
    one.subscribed("c1");
    var next = one.overAnotherLink();
    InboxNode.get(next.resume());

    node.server.await("one", 7, one);

    await().during(Duration.ofMillis(50)).untilAsserted(() -> assertThat(online()).isEqualTo(1));
    node.publish("m");
    assertThat(next.pushed).containsExactly("1 m");
  }

  @Test
  void anEarlierLifeIsRefusedAndALaterOneLosesItsConnections() throws Exception {
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(one.resume());
    one.subscribed("c1");

    assertRefused(new TestFrontend(node, "one", 6).resume(), "is attached with incarnation 7");
    var later = new TestFrontend(node, "one", 8);
    InboxNode.get(later.resume());

    assertThat(later.questions).isEmpty();
    assertThat(online()).isZero();
  }
}
