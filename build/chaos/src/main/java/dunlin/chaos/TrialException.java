package dunlin.chaos;

import java.io.Serial;

/** A trial cannot continue: a process, a tool or the cluster did not do something in time. */
public final class TrialException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  public TrialException(String message) {
    super(message);
  }

  public TrialException(String message, Throwable cause) {
    super(message, cause);
  }
}
