package dunlin.inbox.propose;

import dunlin.inbox.range.SessionRange;
import dunlin.inbox.rows.SessionCommand;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;

/**
 * Makes the session range do work that is due: end expired sessions, report wills, and delete messages of ended
 * sessions.
 */
public final class DueWork {
  /*
   * Owner: the timer thread begins; the applying thread continues.
   * Bounds: one command at a time, of STEPS_MAX steps.
   * Failure: work that the range refuses is still due at the next turn.
   */
  public static final int STEPS_MAX = 1_000;

  private final SessionRange logic;
  private final Proposals proposals;
  private final IntSupplier wills;
  private final AtomicBoolean proposed = new AtomicBoolean();

  /** @param wills the number of wills that may still be reported */
  public DueWork(SessionRange logic, Proposals proposals, IntSupplier wills) {
    this.logic = logic;
    this.proposals = proposals;
    this.wills = wills;
  }

  /** One turn of the timer. */
  public void turn(long now) {
    if (logic.nextWork() > now || !proposed.compareAndSet(false, true)) return;
    propose(now);
  }

  private void propose(long now) {
    boolean queued =
        proposals.now(
            new SessionCommand.Tick(now, STEPS_MAX, wills.getAsInt()),
            effects -> {
              if (effects.hasMoreWork()) propose(now);
              else proposed.set(false);
            },
            () -> proposed.set(false));
    if (!queued) proposed.set(false);
  }
}
