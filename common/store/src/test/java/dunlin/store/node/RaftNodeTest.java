package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.raft.FreePort;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.ratis.util.LifeCycle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The start of a Raft server whose port is taken. */
class RaftNodeTest {
  @TempDir Path directory;

  private final int port = FreePort.find();
  private final StoreSettings settings = StoreSettings.defaults().with(ClusterSettings.loopback(port));

  @Test
  void aPortThatIsTakenBeforeRatisOpensItFailsTheStartAndNotTheProcess() throws Exception {
    try (var data = DataDirectory.open(directory);
        var callers = new PeerCallers(new SimpleMeterRegistry(), System::nanoTime)) {
      var node = build(data, callers);
      try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        assertThatThrownBy(node::start)
            .isInstanceOf(StoreException.class)
            .hasMessageStartingWith("cluster port " + port + " cannot be used: ")
            .hasMessageEndingWith("Address already in use");
      }
      node.close();
      assertThat(node.server().getLifeCycleState()).isEqualTo(LifeCycle.State.CLOSED);

      var again = build(data, callers);
      again.start();
      assertThat(again.server().getLifeCycleState()).isEqualTo(LifeCycle.State.RUNNING);
      again.close();
    }
  }

  @Test
  void aPortThatIsTakenIsRefusedBeforeAnythingIsBuilt() throws Exception {
    try (var data = DataDirectory.open(directory);
        var callers = new PeerCallers(new SimpleMeterRegistry(), System::nanoTime);
        var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      assertThatThrownBy(() -> build(data, callers))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("cluster port " + port + " cannot be used");
    }
  }

  /** Ratis would take the uncaught exceptions of the application that a broker is embedded in. */
  @Test
  void theHandlerOfUncaughtExceptionsStaysTheApplicationsOwn() throws Exception {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var output = directory.resolve("output");
    var application =
        new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), Application.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();

    int status = application.waitFor();

    assertThat(status).as(() -> read(output)).isZero();
    assertThat(read(output)).contains("the application's own handler: thrown by a thread");
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private RaftNode build(DataDirectory data, PeerCallers callers) throws Exception {
    Files.createDirectories(data.raft());
    return RaftNode.build(
        data.identity().nodeId(),
        settings,
        data,
        callers,
        new SimpleMeterRegistry(),
        _ -> {
          throw new IllegalStateException("there is no range");
        });
  }

  /** A process of its own: Ratis takes the handler once, when it is first used. */
  static final class Application {
    private Application() {}

    public static void main(String[] arguments) throws InterruptedException {
      Thread.setDefaultUncaughtExceptionHandler(
          (_, e) -> System.out.println("the application's own handler: " + e.getMessage()));
      ProcessExit.forbid();
      var thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    throw new IllegalStateException("thrown by a thread");
                  });
      thread.join();
    }
  }
}
