package dunlin.dist;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lane to the dist worker of a leader. A message with an acknowledgement is acknowledged only if this node still led
 * the routes after it was matched, so that no subscription is missed that another leader has confirmed.
 */
final class LeasedLane implements Lane {
  /*
   * One read barrier proves that for all messages that were matched before it was asked for. One is asked for at a time;
   * messages that are matched meanwhile wait for the next.
   *
   * Owner: the lane's thread.
   * Bounds: the messages that wait are bounded by the credit of their publishers.
   * Failure: without the proof, the message is answered SERVER_UNAVAILABLE, although it may have been delivered, and its
   * publisher sends it again.
   */
  private final Lane lane;
  private final Supplier<CompletableFuture<@Nullable Void>> barrier;
  private final Executor thread;
  private List<Acknowledgement> matched = new ArrayList<>();
  private boolean asked;

  /**
   * @param barrier asks for a read barrier of the routes, as {@code Replica.readBarrier}
   * @param thread runs tasks on the lane's thread, soon
   */
  LeasedLane(Lane lane, Supplier<CompletableFuture<@Nullable Void>> barrier, Executor thread) {
    this.lane = lane;
    this.barrier = barrier;
    this.thread = thread;
  }

  @Override
  public void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    try {
      lane.append(message, feedback, acknowledgement);
    } finally {
      if (acknowledgement != null) {
        matched.add(acknowledgement);
        if (!asked) ask();
      }
    }
  }

  private void ask() {
    asked = true;
    var proved = matched;
    matched = new ArrayList<>();
    var _ =
        barrier
            .get()
            .whenCompleteAsync(
                (_, failure) -> {
                  var reason = failure == null ? ReasonCode.SUCCESS : ReasonCode.SERVER_UNAVAILABLE;
                  for (Acknowledgement each : proved) each.answer(reason);
                  asked = false;
                  if (!matched.isEmpty()) ask();
                },
                thread);
  }
}
