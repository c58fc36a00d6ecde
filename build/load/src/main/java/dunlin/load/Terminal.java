package dunlin.load;

import dunlin.load.engine.Crew;
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

  /** Runs a plan with clients in this process. */
  int run(RunOptions options, Plan plan, Crew.Maker maker) {
    options.examine(plan, err);
    return options.execute(plan, maker, out, err);
  }
}
