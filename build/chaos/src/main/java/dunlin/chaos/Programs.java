package dunlin.chaos;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the system's own programs, such as mount and kill. */
public final class Programs {
  private static final int DEADLINE_SECONDS = 60;

  private Programs() {}

  /** Runs a program and returns its output; it must succeed. */
  public static String run(String... command) {
    try {
      var process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getOutputStream().close();
      if (!process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new TrialException(List.of(command) + " has not ended within " + DEADLINE_SECONDS + " s");
      }
      String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
      if (process.exitValue() != 0) throw new TrialException(List.of(command) + ": " + process.exitValue() + ", " + printed);
      return printed;
    } catch (IOException e) {
      throw new TrialException(List.of(command) + " cannot be run", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted in " + List.of(command), e);
    }
  }
}
