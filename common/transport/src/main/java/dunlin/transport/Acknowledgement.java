package dunlin.transport;

import dunlin.model.ReasonCode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What one publish of QoS 1 or 2 still waits for before its PUBACK or PUBREC may leave: one answer from every
 * destination that was handed the message. Answers come from any thread; the last one completes it, exactly once.
 *
 * <p>The creator holds one answer itself while it hands the message out, so that a quick destination cannot complete it
 * early; giving that one is the last thing it does.
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
   * Plain fields: the thread that gives an answer publishes with it, by the atomic step on pending, what it has written before, and
   * the thread that gives the last one sees it. There is one of these for each message, so a fence saved is worth having.
   */
  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written and read through PENDING
  private int pending = 1;

  @SuppressWarnings("FieldMayBeFinal") // written through WORST
  private ReasonCode worst = ReasonCode.SUCCESS;

  private boolean matched;

  /** Announces one more answer. Called by the lane's thread, or by a holder of an answer that was not given yet. */
  public final void expect() {
    int before = (int) PENDING.getAndAdd(this, 1);
    assert before > 0 : "an answer expected after the last one was given";
  }

  /** Notes that somebody wants the message; without it a success is "no matching subscribers". By the lane's thread. */
  public final void markMatched() {
    matched = true;
  }

  /** Whether somebody wanted the message. Known for certain once all answers are in. */
  public final boolean matched() {
    return matched;
  }

  /** Gives one answer; {@link ReasonCode#SUCCESS} when the destination has the message as safely as it promises. */
  public final void answer(ReasonCode reason) {
    if (reason.isError()) WORST.compareAndSet(this, ReasonCode.SUCCESS, reason);
    int before = (int) PENDING.getAndAdd(this, -1);
    assert before > 0 : "more answers than expected";
    if (before == 1) complete(worst);
  }

  /**
   * Gives one answer for a copy that was dropped, by a rule, and counted: others may have theirs. An error, when the publisher can be
   * told one without harm to those.
   */
  public final void dropped(ReasonCode reason) {
    answer(terms().toldOfDrops() ? reason : ReasonCode.SUCCESS);
  }

  /** What the publisher asks of those who take the message. Any thread. */
  public Terms terms() {
    return Terms.ANSWERED;
  }

  /** All answers are in. Runs on the thread of the last one. */
  protected abstract void complete(ReasonCode reason);
}
