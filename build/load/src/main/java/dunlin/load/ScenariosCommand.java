package dunlin.load;

import dunlin.load.scenario.Scenarios;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code bench scenarios}: which there are, and what is in one. */
@Command(name = "scenarios", description = "Lists the published scenarios, or prints one.")
final class ScenariosCommand extends HelpOption implements Callable<Integer> {
  @Parameters(arity = "0..1", paramLabel = "NAME", description = "The one to print.")
  private @Nullable String name;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    var terminal = Terminal.of(spec);
    if (name == null) Scenarios.PUBLISHED.forEach(terminal.out()::println);
    else terminal.out().print(Scenarios.published(name));
    terminal.out().flush();
    return Main.GOOD;
  }
}
