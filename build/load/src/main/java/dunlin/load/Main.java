package dunlin.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.util.internal.logging.InternalLoggerFactory;
import io.netty.util.internal.logging.JdkLoggerFactory;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The load test {@code dunlin bench}. Exits with 0 on success, with 1 when an expectation was not met or the broker was
 * not reached, and with 2 when the arguments or a file are wrong.
 */
@Command(
    name = "bench",
    description = "Loads an MQTT broker, and says what it did with every message.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {ConnCommand.class, PubCommand.class, SubCommand.class, RunCommand.class, DirectorCommand.class, WorkerCommand.class, ScenariosCommand.class, DoctorCommand.class, CompareCommand.class})
public final class Main extends HelpOption implements Runnable {
  /** The exit status of a successful command. */
  static final int GOOD = 0;
  /** The exit status when an expectation was not met or the broker was not reached. */
  static final int NOT_GOOD = 1;
  /** The exit status when the arguments or a file are wrong. */
  static final int NOT_UNDERSTOOD = 2;

  @Spec private CommandLine.Model.@org.jspecify.annotations.Nullable CommandSpec spec;

  public static void main(String[] args) {
    InternalLoggerFactory.setDefaultFactory(JdkLoggerFactory.INSTANCE);
    System.exit(run(args, new PrintWriter(System.out, true, UTF_8), new PrintWriter(System.err, true, UTF_8)));
  }

  /** Runs a command and returns the exit status. */
  static int run(String[] args, PrintWriter out, PrintWriter err) {
    return new CommandLine(new Main())
        .setOut(out)
        .setErr(err)
        .setExitCodeExceptionMapper(_ -> NOT_UNDERSTOOD)
        .setParameterExceptionHandler((failure, _) -> {
          err.println("bench: " + failure.getMessage());
          err.println("Try: " + failure.getCommandLine().getCommandSpec().qualifiedName() + " --help");
          return NOT_UNDERSTOOD;
        })
        .setExecutionExceptionHandler((failure, _, _) -> {
          if (!(failure instanceof RuntimeException)) throw failure;
          if (failure instanceof NullPointerException || failure.getMessage() == null) throw failure;
          err.println("bench: " + failure.getMessage());
          return NOT_UNDERSTOOD;
        })
        .execute(args);
  }

  @Override
  public void run() {
    if (spec != null) throw new ParameterException(spec.commandLine(), "say what to do: conn, pub, sub, run, director, worker, scenarios, doctor or compare");
  }
}
