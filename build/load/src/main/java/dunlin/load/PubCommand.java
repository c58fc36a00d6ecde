package dunlin.load;

import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Payload;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Step;
import dunlin.load.plan.Template;
import dunlin.load.plan.Units;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench pub}: publishes, in an open loop by default. */
@Command(name = "pub", description = "Publishes until Ctrl-C, --duration or --limit.")
final class PubCommand extends HelpOption implements Callable<Integer> {
  private static final Duration DRAIN = Duration.ofSeconds(10);

  @Mixin private final ClientOptions clients = new ClientOptions();
  @Mixin private final RunOptions run = new RunOptions();

  @Option(names = {"-t", "--topic"}, required = true, paramLabel = "TEMPLATE", description = "A topic, with %%i, %%c or %%u; may come several times.")
  private List<String> topics = List.of();

  @Option(names = {"-q", "--qos"}, defaultValue = "0", paramLabel = "QOS", description = "Default: ${DEFAULT-VALUE}")
  private int qos;

  @Option(names = {"-r", "--retain"}, arity = "0..1", fallbackValue = "true", defaultValue = "false", description = "Publishes retained messages.")
  private boolean retain;

  @Option(names = {"-s", "--size", "--payload-size"}, defaultValue = "256", paramLabel = "BYTES", description = "Size of a payload, for example 256 or 1KB; 16 at least. Default: ${DEFAULT-VALUE}")
  private String size = "";

  @Option(names = {"-m", "--message"}, paramLabel = "TEMPLATE", description = "A payload of text, in place of -s; has %%h where the stamp is to stand.")
  private @Nullable String message;

  @Option(names = {"-I", "-im", "--interval_of_msg", "--message-interval"}, defaultValue = "1000", paramLabel = "MS", description = "Milliseconds from one message of a client to its next. Default: ${DEFAULT-VALUE}")
  private double interval;

  @Option(names = "--rate", paramLabel = "RATE", description = "Messages of each client, in place of -I; for example 20/s.")
  private @Nullable String rate;

  @Option(names = "--closed", paramLabel = "N", description = "A closed loop, in place of a rate: a client sends when fewer than N of its messages are on their way. Wants -q 1 or 2.")
  private @Nullable Integer window;

  @Option(names = {"-L", "--limit"}, defaultValue = "0", paramLabel = "N", description = "Messages of all clients together, after which it ends; 0 for no limit.")
  private long limit;

  @Option(names = "--duration", paramLabel = "DURATION", description = "How long to publish, once all are connected; for example 10s.")
  private @Nullable String duration;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    Payload payload = message == null ? Payload.ofSize(Units.bytes(size)) : Payload.ofText(new Template(message));
    if (window != null && qos == 0) throw new IllegalArgumentException("a closed loop waits for acknowledgements, and QoS 0 has none: use -q 1 or 2, or a scenario that has the subscribers too");
    if (window == null && rate == null && interval <= 0) throw new IllegalArgumentException("-I must be more than 0: without a pause use --closed with -q 1, or a --rate");
    Rate each = window != null ? null : rate != null ? Units.rate(rate) : new Rate(1_000 / interval);
    var publishings = new ArrayList<Publishing>();
    for (String topic : topics) publishings.add(new Publishing(new Template(topic), List.of(qos), retain, each, window == null ? 1 : window, payload));
    Pool pool = clients.pool("pub", List.of(), publishings);
    Duration lasting = duration == null ? Step.FOREVER : Units.duration(duration);
    var flow = new Step.Flow(pool.name(), null, null, limit);
    var steps =
        List.of(
            ConnCommand.connect(pool),
            new Step.Traffic("publish", List.of(flow), List.of(), lasting),
            new Step.Drain("drain", DRAIN));
    var plan = new Plan("pub", List.of(pool), steps, run.expectations(), run.loops(), ConnCommand.TIMEOUT, ConnCommand.TIMEOUT);
    return Terminal.of(spec).run(run, plan, LocalCrew::all);
  }
}
