package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.Fit;
import dunlin.cluster.call.ClusterAnswer.HelloIs;
import dunlin.cluster.call.ClusterAnswer.Unfit;
import dunlin.cluster.call.ClusterCall.Hello;
import dunlin.cluster.call.ClusterCall.Join;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.RefusalLog;
import dunlin.cluster.call.Seeds;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which nodes do not fit into a cluster, and what a node says whose seeds are no nodes of a cluster. */
class JoinCheckTest {
  private static final UUID CLUSTER = new UUID(9, 9);
  private static final UUID A = new UUID(0, 1);
  private static final UUID B = new UUID(0, 2);
  private static final String SHARDS = "dunlin.inbox.shards";

  @TempDir Path directory;
  private final Map<NodeAddress, JoinCheck> running = new HashMap<>();

  private static NodeAddress at(int port) {
    return new NodeAddress("127.0.0.1", port);
  }

  private static MemberSettings settings(int port, String shards) {
    return MemberSettings.of("127.0.0.1:1", 1, "127.0.0.1", port, Set.of()).with(new TreeMap<>(Map.of(SHARDS, shards)));
  }

  private byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException {
    var there = running.get(to);
    if (there == null) throw new IOException(to + " does not answer");
    if (!(ClusterWire.call(request).call() instanceof Join join)) throw new IOException("another call");
    return ClusterWire.bytes(there.answer(join, CLUSTER));
  }

  /** A process with this identity and these settings; its map has node B at port 2, and 16 shards. */
  private JoinCheck process(UUID node, int port, MemberSettings settings) {
    var check = new JoinCheck(node, settings, known(new TreeMap<>(Map.of(SHARDS, "16"))), this::call, new RefusalLog());
    running.put(at(port), check);
    return check;
  }

  private KnownMap known(NavigableMap<String, String> agreed) {
    var known = new KnownMap(directory, B);
    var nodes = new TreeMap<UUID, ClusterNode>();
    nodes.put(B, ClusterNode.joining(B, "127.0.0.1", KnownMap.ports(20, 2), Set.of(), "", ""));
    known.update(0, new ClusterMap.Update.Whole(new ClusterMap(1, CLUSTER, nodes, new TreeMap<>(), new TreeMap<>(), agreed)));
    return known;
  }

  private JoinCheck process(UUID node, int port) {
    return process(node, port, settings(port, "16"));
  }

  private ClusterAnswer answer(JoinCheck member, JoinCheck joining) {
    var sent = ClusterWire.bytes(new ClusterWire.Sent(CLUSTER, joining.question()));
    var join = (Join) ClusterWire.call(sent).call();
    assertThat(join).isEqualTo(joining.question());
    var answer = member.answer(join, CLUSTER);
    assertThat(ClusterWire.answer(ClusterWire.bytes(answer))).isEqualTo(answer);
    return answer;
  }

  private static String reason(ClusterAnswer answer) {
    return answer instanceof Unfit(var sentence) ? sentence : answer.toString();
  }

  @Test
  void aNodeWithTheSameSettingsFits() {
    assertThat(answer(process(A, 1), process(B, 2))).isEqualTo(new Fit());
  }

  @Test
  void aSettingThatMustBeTheSameIsNamedWithBothValues() {
    var member = process(A, 1);
    assertThat(reason(answer(member, process(B, 2, settings(2, "32")))))
        .isEqualTo(
            SHARDS + " is 16 in cluster " + CLUSTER + ", and 32 on node " + B + " at 127.0.0.1:2; it must be the same on all nodes");
    assertThat(reason(answer(member, process(B, 2, MemberSettings.of("", 1, "127.0.0.1", 2, Set.of()))))).contains("and not set on node " + B);
  }

  @Test
  void aSettingThatTheClusterWasFoundedWithoutIsNamed() {
    var more = settings(2, "16").with(new TreeMap<>(Map.of(SHARDS, "16", "dunlin.inbox.ranges", "3")));
    assertThat(reason(answer(process(A, 1), process(B, 2, more))))
        .isEqualTo("dunlin.inbox.ranges is not set in cluster " + CLUSTER + ", and 3 on node " + B + " at 127.0.0.1:2; it must be the same on all nodes");

    var founding = new JoinCheck(A, settings(1, "16").with(new TreeMap<>(Map.of(SHARDS, "16", "dunlin.inbox.ranges", "3"))), known(new TreeMap<>()), this::call, new RefusalLog());
    assertThat(answer(founding, process(B, 2, more))).as("not all of its settings are in the map yet").isEqualTo(new Fit());
  }

  /** A store node has no shards because of its role. */
  @Test
  void aSettingThatDiffersIsNamedRatherThanOneThatIsMissing() {
    var known = new TreeMap<>(Map.of(SHARDS, "16", "dunlin.roles", "broker"));
    var store = MemberSettings.of("", 1, "127.0.0.1", 2, Set.of()).with(new TreeMap<>(Map.of("dunlin.roles", "store")));
    var founder = new JoinCheck(A, settings(1, "16"), known(known), this::call, new RefusalLog());
    assertThat(reason(answer(founder, process(B, 2, store)))).startsWith("dunlin.roles is broker in cluster");
  }

  /** In both directions: either could take the other for dead while that one serves clients. */
  @Test
  void theLeaseOfEachNodeEndsBeforeAnotherTakesItForDead() {
    var usual = process(A, 1);
    var patient = process(B, 2, settings(2, "16").with(Duration.ofSeconds(1), Duration.ofSeconds(40), Duration.ofMinutes(1)));
    assertThat(reason(answer(usual, patient))).contains("42000 ms on node " + B, "10000 ms on node " + A);
    assertThat(reason(answer(patient, usual))).contains("42000 ms on node " + B, "10000 ms on node " + A);

    var shortest = process(B, 2, settings(2, "16").with(Duration.ofSeconds(1), Duration.ofSeconds(5), Duration.ofSeconds(5)));
    assertThat(answer(shortest, process(A, 1, settings(1, "16").with(Duration.ofSeconds(1), Duration.ofSeconds(5), Duration.ofSeconds(5)))))
        .isEqualTo(new Fit());
  }

  @Test
  void aCopyOfARunningNodeIsRefusedByTheNodeAndByOthers() {
    var member = process(A, 1);
    var original = process(B, 2);
    var copy = process(B, 3);
    for (var asked : new JoinCheck[] {original, member})
      assertThat(reason(answer(asked, copy)))
          .isEqualTo("node " + B + " runs at 127.0.0.1:2, and another process with its identity starts at 127.0.0.1:3, from a copy of its data directory");
  }

  @Test
  void aNodeThatHasMovedFits() {
    var member = process(A, 1);
    assertThat(answer(member, process(B, 3))).as("nothing is at its former address").isEqualTo(new Fit());
    process(new UUID(0, 3), 2);
    assertThat(answer(member, process(B, 3))).as("another node is there").isEqualTo(new Fit());
    var renamed = process(B, 3);
    running.put(at(2), renamed);
    assertThat(answer(member, renamed)).as("the former address leads to the same process").isEqualTo(new Fit());
  }

  private ClusterIdentity decide(NodeCalls calls, @Nullable UUID own) {
    var bootstrap =
        new Bootstrap(B, settings(2, "16"), Seeds.parse("127.0.0.1:1"), calls, directory, process(B, 2).question(), () -> false);
    return bootstrap.decide(own == null ? null : new ClusterIdentity(own, false), System.nanoTime());
  }

  private void refused(NodeCalls calls, @Nullable UUID own, String... saying) {
    assertThatThrownBy(() -> decide(calls, own)).isInstanceOf(StoreException.class).hasMessageContainingAll(saying);
    assertThat(ClusterIdentity.read(directory)).as("nothing was decided").isEmpty();
  }

  @Test
  void aSeedThatIsNoNodeIsNamedWithWhatItSays() {
    refused((_, _, _) -> "HTTP/1.1 400 Bad Request".getBytes(StandardCharsets.US_ASCII), null, "seed 127.0.0.1:1", "unreadable answer");
    refused(
        (to, _, _) -> {
          throw new IOException(to + ": no connection within 2000 ms");
        },
        null, "seed 127.0.0.1:1", "no connection within 2000 ms");
  }

  @Test
  void anotherVersionIsNamed() {
    refused((_, _, _) -> new byte[] {9, 1, 1}, null, "seed 127.0.0.1:1", "answer of format 9, known is 3");
    refused(
        (_, _, _) -> ClusterWire.bytes(new ClusterAnswer.Refused("a call that cannot be read: call of format 3, known is 4")), null,
        "call of format 3, known is 4");
  }

  private NodeCalls member(ClusterAnswer joined) {
    return (_, request, _) -> ClusterWire.bytes(ClusterWire.call(request).call() instanceof Hello ? new HelloIs(A, CLUSTER) : joined);
  }

  @Test
  void aNodeThatDoesNotFitIsNotStarted() {
    refused(member(new Unfit("shards")), null, "shards");
    assertThatThrownBy(() -> decide(member(new Unfit("shards")), CLUSTER)).isInstanceOf(StoreException.class).hasMessage("shards");
    refused(member(new ClusterAnswer.Refused("about to start")), null, "no cluster in time", "cannot answer yet");
    assertThat(decide(member(new ClusterAnswer.Refused("about to start")), CLUSTER).cluster()).as("a member goes on").isEqualTo(CLUSTER);
    assertThat(decide(member(new Fit()), null).cluster()).isEqualTo(CLUSTER);
  }

  @Test
  void theDirectoryOfAnotherClusterIsRefused() {
    refused(member(new Fit()), new UUID(8, 8), "cluster " + CLUSTER, "this node to cluster " + new UUID(8, 8));
  }
}
