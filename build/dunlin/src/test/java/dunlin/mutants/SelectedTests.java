package dunlin.mutants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.Arrays;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the test classes that its arguments name, in a process of its own. Exits with 0 when all tests pass, with 1 as soon as one fails, since those behind it might wait in vain for
 * minutes as well, with 2 when none was run.
 */
final class SelectedTests implements TestExecutionListener {
  private static final int FAILED = 1;
  private static final int NONE = 2;

  private int passed;

  private SelectedTests() {}

  public static void main(String[] classes) {
    var tests = new SelectedTests();
    var request = LauncherDiscoveryRequestBuilder.request().selectors(Arrays.stream(classes).map(name -> selectClass(name)).toList()).build();
    LauncherFactory.create().execute(request, tests);
    System.exit(tests.passed == 0 ? NONE : 0);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    if (result.getStatus() == TestExecutionResult.Status.FAILED) {
      System.out.println("FAILED " + test.getUniqueId());
      result.getThrowable().ifPresent(failure -> failure.printStackTrace(System.out));
      System.out.flush();
      Runtime.getRuntime().halt(FAILED);
    }
    if (test.isTest()) passed++;
  }
}
