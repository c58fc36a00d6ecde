package dunlin.inbox.server;

import dunlin.inbox.propose.Proposals;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.rows.SessionCommand;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;

/** Has the session range do what time has made due: sessions that end, wills, and what ended sessions have left. */
final class DueWork {
  /*
   * Owner: the timer thread begins; the applying thread goes on.
   * Bounds: one command at a time, of STEPS_MAX steps.
   * Failure: what the range refuses is due at the next turn as well.
   */
  static final int STEPS_MAX = 1_000;

  private final SessionRange logic;
  private final Proposals proposals;
  private final IntSupplier wills;
  private final AtomicBoolean proposed = new AtomicBoolean();

  /** @param wills how many more wills may be reported */
  DueWork(SessionRange logic, Proposals proposals, IntSupplier wills) {
    this.logic = logic;
    this.proposals = proposals;
    this.wills = wills;
  }

  /** One turn of the timer. */
  void turn(long now) {
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
