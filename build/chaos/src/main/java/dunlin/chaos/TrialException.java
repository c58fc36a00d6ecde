package dunlin.chaos;

import java.io.Serial;

/** A trial cannot go on: a process, a tool or the cluster did not do what it has to in the time it has. */
final class TrialException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  TrialException(String message) {
    super(message);
  }

  TrialException(String message, Throwable cause) {
    super(message, cause);
  }
}
