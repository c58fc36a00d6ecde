package dunlin.load;

import dunlin.load.doctor.Doctor;
import dunlin.load.doctor.Finding;
import dunlin.load.doctor.Wanted;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench doctor}: checks whether this machine's limits allow a number of connections. */
@Command(name = "doctor", description = "Says what on this machine is too small for a number of connections, and how to mend it. Exits with 1 when something is.")
final class DoctorCommand extends HelpOption implements Callable<Integer> {
  @Option(names = {"-c", "--count"}, defaultValue = "10000", paramLabel = "N", description = "How many connections. Default: ${DEFAULT-VALUE}")
  private long connections;

  @Option(names = "--endpoints", defaultValue = "1", paramLabel = "N", description = "To how many brokers or ports they go. Default: ${DEFAULT-VALUE}")
  private int endpoints;

  @Option(names = "--ifaddr", split = ",", paramLabel = "ADDRESS", description = "Addresses to connect from, with commas.")
  private List<String> sources = List.of();

  @Option(names = "--messages", defaultValue = "0", paramLabel = "N", description = "How many messages in a second, in and out.")
  private double messages;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    if (endpoints < 1) throw new IllegalArgumentException("there are no endpoints to connect to");
    var terminal = Terminal.of(spec);
    List<Finding> findings = Doctor.here().look(new Wanted(connections, Math.ceilDiv(connections, endpoints), Math.max(1, sources.size()), messages));
    for (Finding finding : findings) terminal.out().println(finding.text());
    return findings.stream().allMatch(Finding::enough) ? Main.GOOD : Main.NOT_GOOD;
  }
}
