package dunlin.load;

import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Plan;
import dunlin.load.scenario.Scenarios;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code bench run}: runs a scenario. */
@Command(name = "run", description = "Runs a scenario: a YAML file, or a published one by its name; \"bench scenarios\" lists them.")
final class RunCommand extends HelpOption implements Callable<Integer> {
  @Mixin private final ScenarioOptions scenario = new ScenarioOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    Plan plan = Scenarios.read(scenario.scenario(), scenario.variables(), run.expectations(), run.loops());
    return Terminal.of(spec).run(run, plan, LocalCrew::all);
  }
}
