package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.runtime.Surroundings;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
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
import java.util.concurrent.ExecutionException;
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
    var around = new Surroundings(InstantSource.system(), this::through, () -> Duration.ZERO, () -> 0);
    try (var trio = Trio.unstarted(directory, UnaryOperator.identity(), settings -> settings.in(around))) {
      for (var node : trio.nodes) links.put(node.port, new CutLink(node.port));
      trio.startAll();
      trio.apply(new Put("before", "1"));
      trio.followers().getFirst().close();
      int tries = 1;
      while (!writtenThoughItsAnswerIsLost(trio)) assertThat(tries++).as("tries, each of which has ended with the term of its leader").isLessThan(20);
    } finally {
      for (var link : links.values()) link.close();
    }
  }

  /** Answers false when the term of the leader has ended in between, as it does on a machine that stands still for a moment. */
  private boolean writtenThoughItsAnswerIsLost(Trio trio) throws Exception {
    var leader = trio.leader();
    var link = link(trio.followers().getFirst());
    link.loseAnswers();
    long before = link.carried();
    var written = Trio.propose(leader, new Put("k", "v".repeat(BYTES)));
    try {
      await().atMost(Trio.DEADLINE).until(() -> link.carried() >= before + BYTES || written.isCompletedExceptionally());
    } finally {
      link.breakConnections();
    }
    try {
      assertThat(written.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo("put");
      return true;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof OutcomeUnknownException || e.getCause() instanceof NotLeaderException) return false;
      throw e;
    }
  }

  private CutLink link(Trio.Node to) throws IOException {
    var link = links.get(to.port);
    if (link == null) throw new IOException("no link to " + to.port);
    return link;
  }
}
