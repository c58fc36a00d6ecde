package dunlin.dist;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lane to the dist worker of a leader. A message with an acknowledgement is acknowledged only if this node still led
 * the routes after the message had come, so that no subscription is missed that another leader has confirmed.
 */
final class LeasedLane implements MatchedLane {
  /*
   * One read barrier proves that for all messages that came before it was asked for. One is asked for at a time; messages
   * that come before it is answered wait for the next. One that fails is asked for once more, for all that have come by then: a leader may lose a question, as
   * when the peers of its range change, and leads on.
   *
   * QoS 1 is delivered at once, and acknowledged with the proof. What belongs to an exchange is not delivered before the proof, nor is any QoS 2: a repetition of
   * it that comes to the next leader is not delivered again to those who have it, so the first delivery must have found
   * all subscriptions.
   *
   * The range may be split. A message that was matched before may lack routes that only the new range's leader knows: it has no proof then. So it is with the epoch
   * before and behind the barrier. What comes at another epoch than what still waits for its proof is not delivered before that has come to its end: the older messages
   * are sent again, and must not come behind it.
   *
   * Owner: the lane's thread.
   * Bounds: the messages that wait are bounded by the credit of their publishers. What one matches in other ranges is kept only if it is delivered later, and is counted
   * then: who passes messages on bounds that.
   * Failure: when the second barrier fails as well, all messages that wait are refused, also for the next proof, and the lane's opener sends
   * them again to the leader at that time. What was delivered is answered SERVER_UNAVAILABLE, and what was not
   * USE_ANOTHER_SERVER. So is what waits undelivered when its sender has been refused an earlier message. A destination that fails does not keep the
   * messages behind from theirs.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LeasedLane.class);

  private final MatchedLane lane;
  private final Supplier<CompletableFuture<@Nullable Void>> barrier;
  private final LongSupplier epoch;
  private final Executor thread;
  private List<Waiting> waiting = new ArrayList<>();
  private boolean asked;

  /** That of the oldest message which has no proof yet. */
  private long oldestEpoch;

  /** Whether messages of another epoch wait behind it. */
  private boolean isSplit;

  /**
   * A message that waits for the proof.
   *
   * @param undelivered the message, if it is delivered only then
   */
  private record Waiting(@Nullable Publication undelivered, Elsewhere elsewhere, @Nullable Feedback feedback, Acknowledgement acknowledgement) {}

  /**
   * @param barrier asks for a read barrier of the routes, as {@code Replica.readBarrier}
   * @param epoch the present epoch of their range
   * @param thread runs tasks on the lane's thread, soon
   */
  LeasedLane(MatchedLane lane, Supplier<CompletableFuture<@Nullable Void>> barrier, LongSupplier epoch, Executor thread) {
    this.lane = lane;
    this.barrier = barrier;
    this.epoch = epoch;
    this.thread = thread;
  }

  @Override
  public void append(Publication message, Elsewhere elsewhere, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement == null || message.qos() == QoS.AT_MOST_ONCE) {
      lane.append(message, elsewhere, feedback, acknowledgement);
      return;
    }
    if (!asked && waiting.isEmpty()) {
      oldestEpoch = elsewhere.epoch();
      isSplit = false;
    }
    isSplit |= elsewhere.epoch() != oldestEpoch;
    boolean holds = message.qos() == QoS.EXACTLY_ONCE || message.exchange() != null || isSplit;
    acknowledgement.expect();
    if (holds) elsewhere.memory().keep();
    try {
      if (!holds) lane.append(message, elsewhere, feedback, acknowledgement);
    } finally {
      waiting.add(new Waiting(holds ? message : null, holds ? elsewhere : Elsewhere.nothing(elsewhere.epoch()), feedback, acknowledgement));
      if (!asked) ask(true);
    }
  }

  /** @param again whether another barrier is asked for if this one fails */
  private void ask(boolean again) {
    asked = true;
    var proved = waiting;
    waiting = new ArrayList<>();
    var _ =
        barrier
            .get()
            .whenCompleteAsync(
                (_, failure) -> {
                  if (failure != null && again) askAgain(proved);
                  else answered(proved, failure == null && areOf(proved, epoch.getAsLong()));
                },
                thread);
  }

  private void askAgain(List<Waiting> unproved) {
    unproved.addAll(waiting);
    waiting = unproved;
    ask(false);
  }

  private static boolean areOf(List<Waiting> messages, long epoch) {
    for (Waiting each : messages) if (each.elsewhere.epoch() != epoch) return false;
    return true;
  }

  private void answered(List<Waiting> messages, boolean proved) {
    messages.forEach(proved ? this::accept : LeasedLane::refuse);
    if (!proved) {
      var behind = waiting;
      waiting = new ArrayList<>();
      behind.forEach(LeasedLane::refuse);
    }
    asked = false;
    if (!waiting.isEmpty()) ask(true);
  }

  private void accept(Waiting message) {
    if (message.undelivered == null) {
      message.acknowledgement.answer(ReasonCode.SUCCESS);
      return;
    }
    if (message.acknowledgement.comesAgain()) {
      refuse(message);
      return;
    }
    var reason = ReasonCode.SUCCESS;
    try {
      lane.append(message.undelivered, message.elsewhere, message.feedback, message.acknowledgement);
    } catch (RuntimeException e) {
      LOG.error("A message could not be delivered", e);
      reason = ReasonCode.SERVER_UNAVAILABLE;
    }
    message.elsewhere.memory().release();
    message.acknowledgement.answer(reason);
  }

  private static void refuse(Waiting message) {
    if (message.undelivered != null) message.elsewhere.memory().release();
    message.acknowledgement.answer(message.undelivered == null ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.USE_ANOTHER_SERVER);
  }
}
