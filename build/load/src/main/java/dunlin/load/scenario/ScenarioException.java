package dunlin.load.scenario;

import org.jspecify.annotations.Nullable;

/** An error in a scenario; the message is one sentence with file and line. */
public final class ScenarioException extends RuntimeException {
  private static final long serialVersionUID = 1;

  ScenarioException(String file, int line, String message, @Nullable Throwable cause) {
    super(line > 0 ? "%s, line %d: %s".formatted(file, line, message) : "%s: %s".formatted(file, message), cause);
  }
}
