package dunlin.inbox.propose;

import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.serve.ProposalLine;

/**
 * Proposes messages to the session range. It refuses messages of connections of which an earlier message was refused, or
 * was left open. Otherwise later messages, some of which are already in flight, would be stored in front of that one,
 * which the client, or the lane, sends again.
 */
final class FencedProposer implements ProposalLine.Proposer<SessionCommand, SessionResult> {
  /*
   * Owner: any thread. A refusal is recorded before the publisher is answered, and the messages of one connection are
   * proposed by one thread at a time.
   * Bounds: stateless.
   * Failure: messages that are already in the log are refused when they are applied: see Fences.
   */
  private final Range<SessionCommand, SessionResult> range;
  private final RefusedConnections refused;

  FencedProposer(Range<SessionCommand, SessionResult> range, RefusedConnections refused) {
    this.range = range;
    this.refused = refused;
  }

  @Override
  public boolean propose(SessionCommand command, Completion<SessionResult> completion) {
    var why = refused.find(fence(command));
    if (why == null) return range.propose(command, completion);
    if (why.open() != null) completion.failed(why.open());
    else completion.done(new SessionResult(new Outcome.Fenced(), new Effects(false)));
    return true;
  }

  private static long fence(SessionCommand command) {
    return switch (command) {
      case Append append -> append.fence();
      case AppendOfExchange append -> append.append().fence();
      default -> 0;
    };
  }
}
