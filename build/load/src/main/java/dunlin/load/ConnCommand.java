package dunlin.load;

import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Step;
import dunlin.load.plan.Units;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench conn}: opens connections and holds them. */
@Command(name = "conn", description = "Connects clients, and holds the connections until Ctrl-C or --duration.")
final class ConnCommand extends HelpOption implements Callable<Integer> {
  static final Duration TIMEOUT = Duration.ofSeconds(30);

  @Mixin private final ClientOptions clients = new ClientOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Option(names = "--duration", paramLabel = "DURATION", description = "How long to hold, once all are connected; for example 10s.")
  private @Nullable String duration;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    Pool pool = clients.pool("conn", List.of(), List.of());
    var steps = List.of(connect(pool), hold(duration));
    var plan = new Plan("conn", List.of(pool), steps, run.expectations(), run.loops(), TIMEOUT, TIMEOUT);
    return Terminal.of(spec).run(run, plan, LocalCrew::all);
  }

  static Step connect(Pool pool) {
    return new Step.Connect("connect", List.of(pool.name()), null);
  }

  /** Waits for a duration, or forever when it is null. */
  static Step hold(@Nullable String duration) {
    return new Step.Traffic("hold", List.of(), List.of(), duration == null ? Step.FOREVER.minusSeconds(1) : Units.duration(duration));
  }
}
