package dunlin.load;

import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Plan;
import dunlin.load.remote.RemoteCrew;
import dunlin.load.scenario.Scenarios;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench director}: runs a scenario on several workers. */
@Command(name = "director", description = "Runs a scenario as \"run\" does, with its clients in workers, and adds up. Exits with 1 also when a worker was lost.")
final class DirectorCommand extends HelpOption implements Callable<Integer> {
  @Mixin private final ScenarioOptions scenario = new ScenarioOptions();

  @Option(names = {"-w", "--workers"}, required = true, split = ",", paramLabel = "HOST:PORT", description = "The workers, with commas. Without a port: " + WorkerCommand.PORT)
  private List<String> workers = List.of();

  @Mixin private final PeerOptions peers = new PeerOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    var variables = scenario.variables();
    var addresses = new ArrayList<Endpoint>();
    for (String worker : workers) addresses.add(ClientOptions.endpoint(worker, WorkerCommand.PORT));
    if (new HashSet<>(addresses).size() < addresses.size()) throw new IllegalArgumentException("a worker is named twice");
    Scenarios.Source source = Scenarios.find(scenario.scenario());
    Plan plan = source.plan(variables, run.expectations(), run.loops());
    var job = new RemoteCrew.Job(source, variables, run.loops(), run.force());
    var terminal = Terminal.of(spec);
    return run.execute(
        plan, (all, audience) -> new RemoteCrew(all, audience, addresses, peers.security(), job, terminal.err()::println), terminal.out(), terminal.err());
  }
}
