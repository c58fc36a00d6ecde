package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.runtime.Surroundings;
import dunlin.store.raft.Command.Put;
import dunlin.store.remote.CutLink;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A follower has an entry, and the leader's connection to it breaks before it has said so. */
class LostAnswersTest {
  private static final int BYTES = 20_000;

  /** How long a range with one follower may wait for the entry to be sent again. */
  private static final Duration SOON = Duration.ofSeconds(60);

  private final Map<Integer, CutLink> links = new ConcurrentHashMap<>();

  @TempDir Path directory;

  private InetSocketAddress through(InetSocketAddress asked) {
    var link = links.get(asked.getPort());
    return link == null ? asked : new InetSocketAddress(InetAddress.getLoopbackAddress(), link.port());
  }

  @Test
  void anEntryWhoseAnswerWasLostIsCommittedWithoutAnother() throws Exception {
    var around = new Surroundings(InstantSource.system(), this::through, () -> Duration.ZERO);
    try (var trio = Trio.unstarted(directory, UnaryOperator.identity(), settings -> settings.in(around))) {
      for (var node : trio.nodes) links.put(node.port, new CutLink(node.port));
      trio.startAll();
      trio.apply(new Put("before", "1"));
      var leader = trio.leader();
      var followers = trio.followers();
      followers.getFirst().close();
      var link = link(followers.getLast());

      link.loseAnswers();
      long before = link.carried();
      var written = Trio.propose(leader, new Put("k", "v".repeat(BYTES)));
      await().atMost(Trio.DEADLINE).until(() -> link.carried() >= before + BYTES);
      link.breakConnections();

      assertThat(written.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo("put");
    } finally {
      for (var link : links.values()) link.close();
    }
  }

  private CutLink link(Trio.Node to) throws IOException {
    var link = links.get(to.port);
    if (link == null) throw new IOException("no link to " + to.port);
    return link;
  }
}
