package dunlin.load;

import dunlin.load.report.Comparison;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code bench compare}: shows two results side by side. */
@Command(name = "compare", description = "Shows two results side by side that --json has written.")
final class CompareCommand extends HelpOption implements Callable<Integer> {
  @Parameters(index = "0", paramLabel = "FIRST", description = "The result to compare with.")
  private Path first = Path.of("");

  @Parameters(index = "1", paramLabel = "SECOND", description = "The other one.")
  private Path second = Path.of("");

  @Option(names = "--html", paramLabel = "FILE", description = "Writes a page with both, with plots.")
  private @Nullable Path html;

  @Spec private @Nullable CommandSpec spec;

  @Override
  public Integer call() {
    Comparison comparison = Comparison.read(first, second);
    Terminal.of(spec).out().print(comparison.table());
    Terminal.of(spec).out().flush();
    if (html == null) return Main.GOOD;
    try {
      Files.writeString(html, comparison.html());
    } catch (IOException failure) {
      throw new UncheckedIOException("%s cannot be written: %s".formatted(html, failure.getMessage()), failure);
    }
    return Main.GOOD;
  }
}
