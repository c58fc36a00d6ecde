package dunlin.inbox.server;

import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executor;

/**
 * The way of messages to the session range. It is closed to connections that end since a message of theirs was refused; else the next
 * message, of which some are on their way, would be stored and come before the one that is sent again.
 */
final class FencedRange implements Range<SessionCommand, SessionResult> {
  /*
   * Owner: any thread. A refusal is noted before the publisher hears of it, and what one connection publishes is proposed by
   *   one thread at a time.
   * Bounds: MAX connections, the oldest goes first. Each has at most the credit of its lane on its way.
   * Failure: what was in the log already is refused there: see Fences.
   */
  static final int MAX = 65_536;

  private final Range<SessionCommand, SessionResult> range;
  private final Set<Long> refused = new LinkedHashSet<>(); // guarded by itself

  /** Whether there is any: without one, a proposal costs no lock. */
  private volatile boolean any;

  FencedRange(Range<SessionCommand, SessionResult> range) {
    this.range = range;
  }

  /** Refuses what a connection publishes from here on. */
  void refuse(long fence) {
    if (fence == 0) return;
    synchronized (refused) {
      if (!refused.add(fence)) return;
      any = true;
      if (refused.size() <= MAX) return;
      Iterator<Long> oldest = refused.iterator();
      oldest.next();
      oldest.remove();
    }
  }

  private boolean refuses(SessionCommand command) {
    if (!any || !(command instanceof Append append) || append.fence() == 0) return false;
    synchronized (refused) {
      return refused.contains(append.fence());
    }
  }

  @Override
  public boolean propose(SessionCommand command, Completion<SessionResult> completion) {
    if (!refuses(command)) return range.propose(command, completion);
    completion.done(new SessionResult(new Outcome.Fenced(), new Effects()));
    return true;
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
