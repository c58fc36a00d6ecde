package dunlin.inbox.propose;

import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.RangeState;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import java.util.concurrent.Executor;

/**
 * One of several ranges. Commands to it carry what the other ranges hold, where bounds on all ranges together need
 * that.
 */
public final class BoundedRange implements Range<SessionCommand, SessionResult> {
  /*
   * Owner: any thread.
   * Bounds: stateless.
   * Failure: SharedSums explains what follows from a missing answer.
   */
  private final Range<SessionCommand, SessionResult> range;
  private final RangeState state;
  private final SharedSums sums;

  /** @param state the state of that range */
  public BoundedRange(Range<SessionCommand, SessionResult> range, RangeState state, SharedSums sums) {
    this.range = range;
    this.state = state;
    this.sums = sums;
  }

  @Override
  public boolean propose(SessionCommand command, Completion<SessionResult> completion) {
    var releasing =
        new Completion<SessionResult>() {
          @Override
          public void done(SessionResult result) {
            sums.release(command);
            completion.done(result);
          }

          @Override
          public void failed(StoreException failure) {
            sums.release(command);
            completion.failed(failure);
          }
        };
    if (range.propose(sums.claim(state, command), releasing)) return true;
    sums.release(command);
    return false;
  }

  @Override
  public boolean whenRoom(Runnable caller) {
    return range.whenRoom(caller);
  }

  @Override
  public boolean hasDiskRoom() {
    return range.hasDiskRoom();
  }

  @Override
  public RangeReader reader() {
    return range.reader();
  }

  @Override
  public Executor readers() {
    return range.readers();
  }
}
