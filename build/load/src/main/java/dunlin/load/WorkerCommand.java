package dunlin.load;

import dunlin.load.plan.Endpoint;
import dunlin.load.remote.WorkerSecurity;
import dunlin.load.remote.WorkerServer;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench worker}: waits for a director and runs a share of its clients. */
@Command(name = "worker", description = "Waits for \"director\", and has a share of its clients, one run after the other, until Ctrl-C.")
final class WorkerCommand extends HelpOption implements Callable<Integer> {
  static final int PORT = 7883;

  @Option(names = "--listen", defaultValue = "127.0.0.1", paramLabel = "HOST:PORT", description = "Where to wait. Default: ${DEFAULT-VALUE}:" + PORT + "; port 0 takes a free one.")
  private String listen = "";

  @Option(names = "--files", defaultValue = "", paramLabel = "DIR", description = "Where files are that a scenario names. Default: the working directory")
  private Path directory = Path.of("");

  @Option(names = "--ifaddr", split = ",", paramLabel = "ADDRESS", description = "Addresses of this machine to connect from, with commas, in place of the scenario's.")
  private List<String> sources = List.of();

  @Mixin private final PeerOptions peers = new PeerOptions();

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() throws InterruptedException {
    boolean free = listen.endsWith(":0");
    Endpoint at = ClientOptions.endpoint(free ? listen.substring(0, listen.length() - 2) : listen, PORT);
    WorkerSecurity security = peers.security();
    security.check(at.host());
    var out = Terminal.of(spec).out();
    var address = new InetSocketAddress(at.host(), free ? 0 : at.port());
    if (address.isUnresolved()) throw new IllegalArgumentException("the host %s is not known".formatted(at.host()));
    try (var server = new WorkerServer(address, security, directory, sources, out)) {
      out.println("Waits for a director on %s".formatted(new Endpoint(at.host(), server.port())));
      server.await();
    }
    return Main.GOOD;
  }
}
