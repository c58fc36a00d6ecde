package dunlin.dist;

import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import org.jspecify.annotations.Nullable;

/** The answer to a publish of a test, which notes what it was. */
final class NotedAnswer extends Acknowledgement {
  @Nullable ReasonCode reason;
  boolean comesAgain;

  @Override
  public boolean comesAgain() {
    return comesAgain;
  }

  @Override
  protected void complete(ReasonCode worst) {
    reason = worst;
  }
}
