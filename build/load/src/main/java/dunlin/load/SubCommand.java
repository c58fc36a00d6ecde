package dunlin.load;

import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Subscribing;
import dunlin.load.plan.Template;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench sub}: subscribes, and counts what comes from any {@code bench pub}. */
@Command(name = "sub", description = "Subscribes, and counts what other processes publish with \"pub\", until Ctrl-C or --duration.")
final class SubCommand extends HelpOption implements Callable<Integer> {
  @Mixin private final ClientOptions clients = new ClientOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Option(names = {"-t", "--topic"}, required = true, paramLabel = "TEMPLATE", description = "A topic filter, with %%i, %%c or %%u; may come several times.")
  private List<String> topics = List.of();

  @Option(names = {"-q", "--qos"}, defaultValue = "0", paramLabel = "QOS", description = "Default: ${DEFAULT-VALUE}")
  private int qos;

  @Option(names = "--duration", paramLabel = "DURATION", description = "How long to receive, once all have subscribed; for example 10s.")
  private @Nullable String duration;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    Pool pool = clients.pool("sub", topics.stream().map(topic -> new Subscribing(new Template(topic), qos)).toList(), List.of());
    var plan = new Plan("sub", List.of(pool), List.of(ConnCommand.connect(pool), ConnCommand.hold(duration)), run.expectations(), run.loops(), ConnCommand.TIMEOUT, ConnCommand.TIMEOUT);
    return Terminal.of(spec).run(run, plan, LocalCrew::ofAllRuns);
  }
}
