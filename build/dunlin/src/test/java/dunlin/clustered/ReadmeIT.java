package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.MovingClient;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of the README's "Run a cluster". */
class ReadmeIT {
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path directory;

  @Test
  void threeCommandsRunACluster() {
    try (var cluster = DocumentedCluster.of(Path.of("../../README.md"), "## Run a cluster", "build/run", directory)) {
      assertThat(cluster.size()).isEqualTo(3);
      for (int i = 0; i < 3; i++) cluster.launch();
      for (int i = 0; i < 3; i++) assertThat(cluster.brokers().get(i).awaitStarted(LONG).port()).isEqualTo(cluster.port(i));

      try (var subscriber = new MovingClient(cluster.brokers(), Connect.of("subscriber"), 1, 0);
          var publisher = new MovingClient(cluster.brokers(), Connect.of("publisher"), 2, 0)) {
        subscriber.subscribe("sensors/#");
        publisher.publish("sensors/room1", "21.5", false);
        assertThat(subscriber.receive()).isEqualTo("21.5");
      }
      for (int i = 1; i <= 3; i++) assertThat(directory.resolve("data" + i)).isDirectory();
    }
  }
}
