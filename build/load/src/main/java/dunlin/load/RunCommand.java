package dunlin.load;

import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Plan;
import dunlin.load.scenario.Scenarios;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code bench run}: a scenario. */
@Command(name = "run", description = "Runs a scenario: a YAML file, or a published one by its name; \"bench scenarios\" lists them.")
final class RunCommand extends HelpOption implements Callable<Integer> {
  @Parameters(paramLabel = "FILE", description = "The scenario.")
  private String scenario = "";

  @Option(names = "--set", paramLabel = "NAME=VALUE", description = "The value of a variable of the scenario; may come several times.")
  private Map<String, String> variables = new TreeMap<>();

  @Option(names = {"-h", "--host"}, paramLabel = "HOST", description = "The broker, in place of the variable \"host\".")
  private @Nullable String host;

  @Option(names = {"-p", "--port"}, paramLabel = "PORT", description = "Its port, in place of the variable \"port\".")
  private @Nullable Integer port;

  @Mixin private final RunOptions run = new RunOptions();

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    var given = new TreeMap<>(variables);
    if (host != null) given.put("host", host);
    if (port != null) given.put("port", port.toString());
    Plan plan = Scenarios.read(scenario, given, run.expectations(), run.loops());
    return Terminal.of(spec).run(run, plan, LocalCrew::all);
  }
}
