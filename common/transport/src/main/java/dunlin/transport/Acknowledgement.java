package dunlin.transport;

import dunlin.model.ReasonCode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The pending answers to one publish of QoS 1 or 2, before its PUBACK or PUBREC is sent: one from every destination
 * that got the message. Answers come from any thread; the last one completes it, exactly once.
 *
 * <p>The creator holds one answer itself while it distributes the message, so that a quick destination cannot complete
 * it early; it gives that answer last.
 */
public abstract class Acknowledgement {
  private static final VarHandle PENDING;
  private static final VarHandle WORST;

  static {
    try {
      PENDING = MethodHandles.lookup().findVarHandle(Acknowledgement.class, "pending", int.class);
      WORST = MethodHandles.lookup().findVarHandle(Acknowledgement.class, "worst", ReasonCode.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /*
   * Plain fields: the atomic update of `pending` publishes a thread's earlier writes, and the thread that gives the
   * last answer sees them. There is one object for each message, so saving a fence matters.
   */
  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written and read through PENDING
  private int pending = 1;

  @SuppressWarnings("FieldMayBeFinal") // written through WORST
  private ReasonCode worst = ReasonCode.SUCCESS;

  private boolean matched;

  /** Expects one more answer. Called by the lane's thread, or by the holder of an answer that was not given yet. */
  public final void expect() {
    int before = (int) PENDING.getAndAdd(this, 1);
    assert before > 0 : "an answer expected after the last one was given";
  }

  /**
   * Notes that the message has a subscriber; without this, a success is "no matching subscribers". Called by the lane's
   * thread, or by the holder of an answer that was not given yet.
   */
  public final void markMatched() {
    matched = true;
  }

  /** Whether the message had a subscriber. Final once all answers are given. */
  public final boolean matched() {
    return matched;
  }

  /** Gives one answer; {@link ReasonCode#SUCCESS} when the destination has the message as safely as it promises. */
  public final void answer(ReasonCode reason) {
    if (reason.isError() && WORST.compareAndSet(this, ReasonCode.SUCCESS, reason)) failed(reason);
    int before = (int) PENDING.getAndAdd(this, -1);
    assert before > 0 : "more answers than expected";
    if (before == 1) complete(worst);
  }

  /**
   * Gives one answer for a copy that was dropped by a rule and counted, while other copies may be delivered. It is an
   * error if the publisher can be told of one without harm to those.
   */
  public final void dropped(ReasonCode reason) {
    answer(terms().toldOfDrops() ? reason : ReasonCode.SUCCESS);
  }

  /** The publisher's terms for the message's destinations. Any thread. */
  public Terms terms() {
    return Terms.ANSWERED;
  }

  /** What the last member of a group at a frontend has left behind is for other members only; null for a message to all that it matches. Called by the lane's thread. */
  public @Nullable LeftBehind leftBehind() {
    return null;
  }

  /**
   * Whether the sender sends the message again, behind an earlier one that was refused: if it has not been delivered yet, it must not be, or it would overtake that one.
   * It is answered {@link ReasonCode#USE_ANOTHER_SERVER} then, or {@link ReasonCode#SERVER_UNAVAILABLE} if it is recorded. Any thread.
   */
  public boolean comesAgain() {
    return false;
  }

  /**
   * Says that an answer will be this error, when the answer itself has to wait for another thread: nothing later is delivered by then if the message comes again. Called
   * by the holder of an answer that was not given yet, on any thread.
   */
  public void willFail(ReasonCode reason) {}

  /**
   * Whether the message is not to be sent again if it is not answered: its client's connection was ended, since this node may not have it any more, and the client publishes it
   * again elsewhere. The lane's thread.
   */
  public boolean isForsaken() {
    return false;
  }

  /**
   * Notes what was picked for one of the message's groups, as a number. A repetition {@linkplain Terms.Origin#picked
   * brings} it, so that it goes there again. Called by the lane's thread, before the message is delivered there.
   */
  public void picked(long shard) {}

  /**
   * Says what the record of the message's exchange knows of earlier picks, the last one last, or that the message {@linkplain Terms.Pick#DELIVERED is delivered}.
   * Called by the recorder, on any thread, before it answers a repetition.
   */
  public void recorded(List<Long> picks) {
    picks.forEach(this::picked);
  }

  /** Called with the first error, on the thread of that answer, while others may be pending. */
  protected void failed(ReasonCode reason) {}

  /** Called when all answers are given, on the thread of the last one. */
  protected abstract void complete(ReasonCode reason);
}
