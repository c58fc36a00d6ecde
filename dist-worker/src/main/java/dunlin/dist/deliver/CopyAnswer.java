package dunlin.dist.deliver;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/** Stands for the publisher's feedback and acknowledgement at one destination, and passes all to them on the lane's thread, once. */
final class CopyAnswer extends Acknowledgement implements Feedback, Runnable {
  /*
   * A message that the lane's thread has served needs it, too: its answer may come while a worker serves the
   * destination. As all answers of a destination take one way, they keep their order, which RecordedDelivery relies on.
   *
   * An error must not wait for that way: the sender sends the message again then, and the destination would be given later ones by then. So the publisher's
   * acknowledgement learns of it at once.
   *
   * Owner: the destination answers on any thread.
   * Failure: a destination that fails before it answers is answered for; what it says later is ignored. What it
   * had said to wait waits no longer then.
   */
  @SuppressWarnings("rawtypes")
  private static final AtomicReferenceFieldUpdater<CopyAnswer, @Nullable ReasonCode> GIVEN =
      AtomicReferenceFieldUpdater.newUpdater(CopyAnswer.class, ReasonCode.class, "given");

  private final LaneAnswers lane;
  private final @Nullable Feedback feedback;
  private final @Nullable Acknowledgement acknowledgement;
  private volatile @Nullable ReasonCode given;

  // Of the lane's thread: what the publisher believes to wait.
  private int waiting;
  private boolean over;

  private CopyAnswer(LaneAnswers lane, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    this.lane = lane;
    this.feedback = feedback;
    this.acknowledgement = acknowledgement;
  }

  /** Null when the publisher has neither. */
  static @Nullable CopyAnswer of(LaneAnswers lane, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    return feedback == null && acknowledgement == null ? null : new CopyAnswer(lane, feedback, acknowledgement);
  }

  /** What the destination gets as feedback. */
  @Nullable Feedback feedback() {
    return feedback == null ? null : this;
  }

  /** What the destination gets as acknowledgement. */
  @Nullable Acknowledgement acknowledgement() {
    return acknowledgement == null ? null : this;
  }

  @Override
  public Terms terms() {
    return acknowledgement == null ? Terms.ANSWERED : acknowledgement.terms();
  }

  @Override
  public boolean comesAgain() {
    return acknowledgement != null && acknowledgement.comesAgain();
  }

  @Override
  public void willFail(ReasonCode reason) {
    if (acknowledgement != null) acknowledgement.willFail(reason);
  }

  @Override
  protected void failed(ReasonCode reason) {
    willFail(reason);
  }

  /** Passed on before the answer. */
  @Override
  public void picked(long shard) {
    var to = acknowledgement;
    if (to != null) lane.execute(() -> to.picked(shard));
  }

  @Override
  protected void complete(ReasonCode reason) {
    if (GIVEN.compareAndSet(this, null, reason)) lane.execute(this);
  }

  /** Answers in place of the destination. Returns false if no answer is wanted. */
  boolean give(Publication message, ReasonCode reason) {
    if (GIVEN.compareAndSet(this, null, reason)) {
      failed(reason);
      lane.execute(
          () -> {
            while (waiting > 0) passWaitsNoLonger(message.qos(), message.body().length);
            run();
          });
    }
    return acknowledgement != null;
  }

  /** Passes the answer on, on the lane's thread. */
  @Override
  public void run() {
    over = true;
    var reason = given;
    if (reason == null) throw new IllegalStateException("no answer was given");
    var to = acknowledgement;
    if (to == null) return;
    if (matched()) to.markMatched();
    to.answer(reason);
  }

  @Override
  public void waits(QoS qos, int size) {
    if (feedback != null && given == null) lane.execute(() -> passWaits(qos, size));
  }

  @Override
  public void waitsNoLonger(QoS qos, int size) {
    if (feedback != null && given == null) lane.execute(() -> passWaitsNoLonger(qos, size));
  }

  private void passWaits(QoS qos, int size) {
    if (over || feedback == null) return;
    waiting++;
    feedback.waits(qos, size);
  }

  private void passWaitsNoLonger(QoS qos, int size) {
    if (waiting == 0 || feedback == null) return;
    waiting--;
    feedback.waitsNoLonger(qos, size);
  }
}
