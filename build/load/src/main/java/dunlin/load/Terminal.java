package dunlin.load;

import dunlin.load.plan.Plan;
import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;

/** Where a command prints. */
record Terminal(PrintWriter out, PrintWriter err) {
  static Terminal of(@Nullable CommandSpec spec) {
    if (spec == null) throw new IllegalStateException("not run as a command");
    return new Terminal(spec.commandLine().getOut(), spec.commandLine().getErr());
  }

  int run(RunOptions options, Plan plan, boolean allRuns) {
    return options.execute(plan, allRuns, out, err);
  }
}
