package dunlin.mutants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.Arrays;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs the test classes that its arguments name, in a process of its own. Exits with 0 when all tests pass, with 1 when one fails, with 2 when none was run. */
final class SelectedTests {
  private SelectedTests() {}

  public static void main(String[] classes) {
    var listener = new SummaryGeneratingListener();
    var request = LauncherDiscoveryRequestBuilder.request().selectors(Arrays.stream(classes).map(name -> selectClass(name)).toList()).build();
    LauncherFactory.create().execute(request, listener);
    var summary = listener.getSummary();
    summary.printFailuresTo(new PrintWriter(System.out, true, Charset.defaultCharset()));
    System.exit(summary.getTestsSucceededCount() + summary.getTestsFailedCount() == 0 ? 2 : summary.getTotalFailureCount() > 0 ? 1 : 0);
  }
}
