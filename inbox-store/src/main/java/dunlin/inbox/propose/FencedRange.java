package dunlin.inbox.propose;

import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import java.util.concurrent.Executor;

/**
 * The way of messages to the session range. It is closed to connections that end since a message of theirs was refused; else the next
 * message, of which some are on their way, would be stored and come before the one that is sent again.
 */
final class FencedRange implements Range<SessionCommand, SessionResult> {
  /*
   * Owner: any thread. A refusal is noted before the publisher hears of it, and what one connection publishes is proposed by
   *   one thread at a time.
   * Bounds: keeps nothing.
   * Failure: what was in the log already is refused there: see Fences.
   */
  private final Range<SessionCommand, SessionResult> range;
  private final RefusedConnections refused;

  FencedRange(Range<SessionCommand, SessionResult> range, RefusedConnections refused) {
    this.range = range;
    this.refused = refused;
  }

  @Override
  public boolean propose(SessionCommand command, Completion<SessionResult> completion) {
    if (!refused.holds(fence(command))) return range.propose(command, completion);
    completion.done(new SessionResult(new Outcome.Fenced(), new Effects()));
    return true;
  }

  private static long fence(SessionCommand command) {
    return switch (command) {
      case Append append -> append.fence();
      case AppendOfExchange(_, _, var append) -> append.fence();
      default -> 0;
    };
  }

  @Override
  public boolean whenRoom(Runnable caller) {
    return range.whenRoom(caller);
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
