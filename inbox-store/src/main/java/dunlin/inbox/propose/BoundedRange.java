package dunlin.inbox.propose;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.RangeState;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A range whose commands carry what other ranges hold, where bounds on all ranges together need that, and what limits of tenants leave. It refuses those for which
 * {@link ExchangeRoom} has no room, as a bound refuses that is found when a command is applied. While the leader's heap is full, commands carry that other ranges hold all that there may be: no session and
 * no subscription comes then that was not there.
 */
public final class BoundedRange implements Range<SessionCommand, SessionResult> {
  /*
   * Owner: any thread.
   * Bounds: stateless.
   * Failure: SharedSums explains what follows from a missing answer. What is refused for want of room is answered before
   * the call returns, so that its publisher's later messages find it refused: see FencedProposer.
   */
  private final Range<SessionCommand, SessionResult> range;
  private final RangeState state;
  private final @Nullable SharedSums sums;
  private final TenantInboxes tenants;
  private final ExchangeRoom exchanges;
  private final long memoryMax;
  private final BooleanSupplier heapFull;

  /**
   * @param state the state of that range
   * @param sums bounds on all ranges together; null if this is the only one
   * @param heapFull whether the heap has no room for more that stays
   */
  public BoundedRange(
      Range<SessionCommand, SessionResult> range, RangeState state, @Nullable SharedSums sums, TenantInboxes tenants, InboxSettings settings, BooleanSupplier heapFull) {
    this.range = range;
    this.state = state;
    this.sums = sums;
    this.tenants = tenants;
    this.heapFull = heapFull;
    memoryMax = settings.sums().memory();
    exchanges = new ExchangeRoom(state, settings, heapFull);
  }

  @Override
  public boolean propose(SessionCommand command, Completion<SessionResult> completion) {
    if (!exchanges.has(command)) {
      completion.done(new SessionResult(new Outcome.AllFull(), new Effects(false)));
      return true;
    }
    return sums == null ? proposeBounded(besideHeap(command), completion) : propose(sums, command, completion);
  }

  private SessionCommand besideHeap(SessionCommand command) {
    if (!heapFull.getAsBoolean()) return command;
    var beside = command instanceof SessionCommand.Beside it ? it : new SessionCommand.Beside(0, 0, 0, command);
    return switch (beside.command()) {
      case SessionCommand.Connect _, SessionCommand.Subscribe _, SessionCommand.Import _ ->
          new SessionCommand.Beside(beside.sessions(), memoryMax, beside.messageBytes(), beside.tenantBytes(), beside.command());
      default -> command;
    };
  }

  private boolean proposeBounded(SessionCommand command, Completion<SessionResult> completion) {
    var bounded = tenants.bounded(state, command);
    if (bounded == null) return range.propose(command, completion);
    var noting =
        new Completion<SessionResult>() {
          @Override
          public void done(SessionResult result) {
            if (result.effects().isTenantFull()) tenants.reached(bounded.tenant());
            completion.done(result);
          }

          @Override
          public void failed(StoreException failure) {
            completion.failed(failure);
          }
        };
    return range.propose(bounded.command(), noting);
  }

  private boolean propose(SharedSums sums, SessionCommand command, Completion<SessionResult> completion) {
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
    if (proposeBounded(besideHeap(sums.claim(state, command)), releasing)) return true;
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
