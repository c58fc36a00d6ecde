package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.harness.LoggedLines;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** What the log says while nodes have not agreed, and once they have. */
final class AgreementTest {
  @Test
  void aNodeThatHasNotSaidSoIsNamedOnceUnlessItWasOnlyStarting() {
    var waiting = List.of("node b has not said so");
    BlockingQueue<List<String>> answers = new LinkedBlockingQueue<>(List.of(List.of("node a is starting"), waiting, waiting, waiting, List.of()));
    var agreement = new Agreement("the test", () -> answers.isEmpty() ? List.of() : answers.remove());
    try (var lines = new LoggedLines(Agreement.class.getName(), Level.INFO)) {
      await()
          .atMost(TestBroker.SOON)
          .until(
              () -> {
                agreement.look();
                return lines.all().stream().anyMatch(line -> line.startsWith("All nodes know the test"));
              });

      assertThat(agreement.isReached()).isTrue();
      assertThat(lines.all())
          .containsExactly("All nodes must have said that they know the test before it holds: node b has not said so", "All nodes know the test, which holds from now on");
    }
  }
}
