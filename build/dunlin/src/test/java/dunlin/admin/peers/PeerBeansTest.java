package dunlin.admin.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.runtime.metrics.NodeBeans;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A bean of another node, as it is seen through a question and its answer as bytes. */
class PeerBeansTest {
  private static final String OTHER = UUID.randomUUID().toString();
  private static final String DOWN = UUID.randomUUID().toString();

  private final NodeBeans here = new NodeBeans("here");
  private final NodeBeans there = new NodeBeans("there");
  private final PeerBeans peers = new PeerBeans(here, UUID.randomUUID().toString(), new Layout(16, 1));
  private final PeerAnswers answers = new PeerAnswers(there);

  @AfterEach
  void close() {
    here.close();
    there.close();
  }

  private NodeMXBean other() {
    return peers.at(OTHER, NodeMXBean.class).orElseThrow();
  }

  private void reached() {
    peers.askBy((node, question, _) -> node.toString().equals(OTHER) ? answers.answer(question) : new byte[0]);
  }

  @Test
  void anOperationIsThatOfTheOtherNode() {
    there.register("Node", new NodeBean("the other \" one\u0001", "1", () -> Optional.of("it is ill"), Optional::empty));
    reached();

    assertThat(other().getId()).isEqualTo("the other \" one\u0001");
    assertThat(other().getUnhealthy()).isEqualTo("it is ill");
    assertThat(other().getUptimeSeconds()).isNotNegative();
    assertThat(other()).hasToString(NodeMXBean.class.toString()).isNotEqualTo(other());
  }

  @Test
  void whatTheOtherBeanRefusesIsRefusedHere() {
    reached();
    there.register(
        "Node",
        new NodeBean(
            "id", "1",
            () -> {
              throw new IllegalArgumentException("not so");
            },
            () -> {
              throw new IllegalStateException("not now");
            }));

    assertThatIllegalArgumentException().isThrownBy(() -> other().getUnhealthy()).withMessage("not so");
    assertThatIllegalStateException().isThrownBy(() -> other().getUnready()).withMessage("not now");
  }

  @Test
  void aNodeWithoutAnAnswerIsNamed() {
    assertThatThrownBy(() -> other().getId()).isInstanceOf(UncheckedIOException.class).hasMessageContaining("node " + OTHER + " was not asked");
    peers.askBy(
        (_, _, deadline) -> {
          throw new IOException("did not answer within " + deadline.toSeconds() + " s");
        });
    assertThatThrownBy(() -> other().getId()).isInstanceOf(UncheckedIOException.class).hasMessage("node " + OTHER + " did not answer within 2 s");
    reached();
    assertThatThrownBy(() -> other().getId()).isInstanceOf(UncheckedIOException.class).hasMessageContaining("serves no clients, or not yet");
  }

  @Test
  void aBeanThatIsShownWhereverItIsLedAsksTheOneOfThisNodeAndIsNotFoundItself() {
    NodeMXBean shown = peers.whereverLed(NodeMXBean.class, "nodes", "The nodes");
    here.show("AllOfThem", shown);
    assertThat(here.find(NodeMXBean.class)).as("one that would ask itself").isEmpty();
    assertThatIllegalStateException().isThrownBy(shown::getId).withMessage("The nodes are not served, since the node is starting");

    here.register(
        "Node",
        new NodeBean(
            "own", "1", Optional::empty,
            () -> {
              throw new IllegalStateException("not now");
            }));

    assertThat(shown.getId()).isEqualTo("own");
    assertThatIllegalStateException().isThrownBy(shown::getUnready).withMessage("not now");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "no json", "[]", "{}", "{\"bean\":\"NodeMXBean\"}", "{\"bean\":{},\"operation\":\"getId\",\"arguments\":[]}",
    "{\"bean\":\"NodeMXBean\",\"operation\":\"getId\",\"arguments\":{}}"
  })
  void whatIsNoQuestionIsRefused(String question) {
    there.register("Node", new NodeBean("id", "1", Optional::empty, Optional::empty));

    assertThatIllegalArgumentException().isThrownBy(() -> answers.answer(question.getBytes(StandardCharsets.UTF_8)));
  }

  /** Such as one of a later version, or to a bean that other nodes may not ask. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{\"bean\":\"NodeMXBean\",\"operation\":\"getId\",\"arguments\":[1]}", "{\"bean\":\"NodeMXBean\",\"operation\":\"exit\",\"arguments\":[]}",
    "{\"bean\":\"ClusterMXBean\",\"operation\":\"getNode\",\"arguments\":[]}", "{\"bean\":\"SettingsMXBean\",\"operation\":\"getEffective\",\"arguments\":[]}"
  })
  void aQuestionForWhichThereIsNoOperationIsAnsweredSo(String question) {
    there.register("Node", new NodeBean("id", "1", Optional::empty, Optional::empty));

    assertThat(BeanQuestion.answer(answers.answer(question.getBytes(StandardCharsets.UTF_8)))).isEqualTo(new BeanQuestion.Answer.Unknown());
  }

  /** The other node is of a version whose bean has nothing but this. */
  public interface EarlierNode {
    String getVersion();
  }

  private void earlierNodeIsReached() {
    NodeBean bean = new NodeBean("id", "0", Optional::empty, Optional::empty);
    EarlierNode earlier = bean::getVersion;
    peers.askBy((_, question, _) -> BeanQuestion.bytes(BeanQuestion.Asked.of(question).by(EarlierNode.class, earlier)));
  }

  @Test
  void anOperationThatTheOtherNodeDoesNotKnowIsRefusedWithItsName() {
    earlierNodeIsReached();

    assertThat(other().getVersion()).isEqualTo("0");
    assertThatThrownBy(() -> other().isReadyForSessionImports())
        .isInstanceOf(UncheckedIOException.class)
        .hasMessage("node " + OTHER + " does not know the operation isReadyForSessionImports of NodeMXBean, since its version is another one");
  }

  /** A cluster of which this and the other node are members, one that is down, and one that has left. */
  private void clusterIsKnown() {
    List<NodeRow> rows =
        Stream.of(peers.node() + " JOINED", OTHER + " JOINED", DOWN + " DOWN", UUID.randomUUID() + " LEFT")
            .map(each -> new NodeRow(each.substring(0, 36), "h", "", "", each.substring(37), 0, List.of(), "ENOUGH"))
            .toList();
    InvocationHandler nodes =
        (_, method, _) -> {
          if (method.getName().equals("getNodes")) return rows;
          throw new UnsupportedOperationException(method.getName());
        };
    here.register("Cluster", Proxy.newProxyInstance(ClusterMXBean.class.getClassLoader(), new Class<?>[] {ClusterMXBean.class}, nodes));
  }

  @Test
  void sessionsAreImportedOnceEachNodeThatMayBeUpHasSaidThatItCanApplyThat() {
    assertThat(peers.unreadyForSessionImports()).as("alone").isEmpty();
    assertThat(peers.others()).as("before it has joined").isEmpty();
    assertThat(peers.presentOthers()).isEmpty();
    clusterIsKnown();
    assertThat(peers.others()).hasValueSatisfying(ids -> assertThat(ids).containsExactlyInAnyOrder(OTHER, DOWN));
    assertThat(peers.presentOthers()).hasValueSatisfying(ids -> assertThat(ids).containsExactly(OTHER));

    peers.askBy(
        (_, _, _) -> {
          throw new IOException("could not answer; its log says why");
        });
    assertThat(peers.unreadyForSessionImports())
        .containsExactly(
            "node %s at h has not said so, as a node of an earlier version cannot (node %s at h could not answer; its log says why)".formatted(OTHER, OTHER));
    earlierNodeIsReached();
    assertThat(peers.unreadyForSessionImports()).singleElement().asString().contains("does not know the operation isReadyForSessionImports");
    assertThat(peers.unreadyForInboxLimits(Set.of(OTHER))).extractingByKey(OTHER).asString().contains("does not know the operation isReadyForInboxLimits");
    assertThat(peers.unreadyForRecordedWills(Set.of(OTHER))).extractingByKey(OTHER).asString().contains("does not know the operation isReadyForRecordedWills");
    reached();
    assertThat(peers.unreadyForSessionImports()).singleElement().asString().endsWith("(it is starting)");
    there.register("Node", new NodeBean("id", "1", Optional::empty, Optional::empty));
    assertThat(peers.unreadyForSessionImports()).isEmpty();
    assertThat(peers.unreadyForInboxLimits(Set.of(OTHER))).isEmpty();
    assertThat(peers.unreadyForRecordedWills(Set.of(DOWN, OTHER)))
        .containsExactly(Map.entry(DOWN, "node %s at h has not said so, as a node of an earlier version cannot (it is down)".formatted(DOWN)));
    assertThat(peers.unreadyForRecordedWills(Set.of())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "no json", "[]", "{}"})
  void whatIsNoAnswerIsRefused(String answer) {
    assertThatIllegalArgumentException().isThrownBy(() -> BeanQuestion.answer(answer.getBytes(StandardCharsets.UTF_8)));
  }
}
