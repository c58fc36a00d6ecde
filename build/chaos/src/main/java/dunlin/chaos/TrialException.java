package dunlin.chaos;

import java.io.Serial;

/** A trial cannot go on: a process, a tool or the cluster did not do what it has to in the time it has. */
public final class TrialException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  public TrialException(String message) {
    super(message);
  }

  public TrialException(String message, Throwable cause) {
    super(message, cause);
  }
}
