package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which addresses are asked, and in which order, when some do not answer. */
class MetaClientTest {
  private static final Duration DEADLINE = Duration.ofMillis(200);
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final NodeAddress SELF = new NodeAddress("self", 1);
  private static final NodeAddress SWALLOWS = new NodeAddress("swallows", 1);
  private static final NodeAddress ANSWERS = new NodeAddress("answers", 1);

  @TempDir Path directory;
  private final List<NodeAddress> called = new ArrayList<>();
  private long now = 1_000_000;

  private MetaClient client(NodeCalls calls) {
    return new MetaClient(
        new UUID(1, 1), SELF, new KnownMap(directory, new UUID(2, 2)), Seeds.parse(SWALLOWS + "," + ANSWERS), calls, _ -> new ClusterAnswer.NotLeading(null),
        () -> now);
  }

  /** One of the nodes answers, and the others use up all of the time that they get. */
  private byte[] swallow(NodeAddress to, byte[] call, Duration deadline) throws IOException {
    called.add(to);
    if (to.equals(ANSWERS)) return ClusterWire.bytes(new ClusterAnswer.Unknown("here"));
    now += deadline.toNanos();
    throw new IOException(to + " does not answer");
  }

  @Test
  void aNodeThatDoesNotReplyIsAskedLastTheNextTime() throws IOException {
    var client = client(this::swallow);
    assertThatThrownBy(() -> client.ask(new ClusterCall.Watch(0), DEADLINE)).isInstanceOf(IOException.class);
    assertThat(called).containsExactly(SWALLOWS);
    called.clear();

    assertThat(client.ask(new ClusterCall.Watch(0), LONG)).isEqualTo(new ClusterAnswer.Unknown("here"));
    assertThat(called).containsExactly(ANSWERS);
  }

  /** A lease must outlast a leader that stands still. */
  @Test
  void aNodeThatDoesNotReplyUsesUpItsShareOnly() throws IOException {
    var client = client(this::swallow);

    assertThat(client.ask(new ClusterCall.Watch(0), DEADLINE, DEADLINE.dividedBy(4))).isEqualTo(new ClusterAnswer.Unknown("here"));
    assertThat(called).containsExactly(SWALLOWS, ANSWERS);
  }

  /** It may only be slow, so it gets its whole share now and then. */
  @Test
  void aNodeThatStaysSilentUsesUpAQuarterOfItsShareButEachFourthTime() {
    var client = client((to, call, deadline) -> swallow(SWALLOWS, call, deadline));
    var shares = new ArrayList<Double>();
    for (int i = 0; i < 9; i++) {
      long before = now;
      assertThatThrownBy(() -> client.ask(new ClusterCall.Watch(0), LONG, DEADLINE)).isInstanceOf(IOException.class);
      shares.add((now - before) / 2.0 / DEADLINE.toNanos()); // both addresses
    }
    assertThat(shares).containsExactly(1.0, 0.25, 0.25, 0.25, 1.0, 0.25, 0.25, 0.25, 1.0);
  }

  @Test
  void aNodeThatAnswersAgainGetsItsOldPlace() throws IOException {
    var failures = new ArrayList<>(List.of(SWALLOWS, ANSWERS));
    var client =
        client(
            (to, _, _) -> {
              called.add(to);
              if (failures.remove(to)) throw new IOException(to + " is not there");
              return ClusterWire.bytes(new ClusterAnswer.Refused(to.toString()));
            });
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> client.ask(new ClusterCall.Watch(0), LONG)).isInstanceOf(IOException.class);
    }

    assertThat(called).containsExactly(SWALLOWS, ANSWERS, SWALLOWS, ANSWERS, SWALLOWS, ANSWERS);
  }

  @Test
  void theNamedLeaderIsAskedNextAndRemembered() throws IOException {
    var client =
        client(
            (to, _, _) -> {
              called.add(to);
              return ClusterWire.bytes(to.equals(ANSWERS) ? new ClusterAnswer.Unknown("leads") : new ClusterAnswer.NotLeading(ANSWERS));
            });
    for (int i = 0; i < 2; i++) assertThat(client.ask(new ClusterCall.Watch(0), LONG)).isEqualTo(new ClusterAnswer.Unknown("leads"));

    assertThat(called).containsExactly(SWALLOWS, ANSWERS, ANSWERS);
  }
}
