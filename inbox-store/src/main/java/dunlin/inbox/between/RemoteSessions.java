package dunlin.inbox.between;

import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** A range of sessions, whichever node leads it. Futures complete on the links' thread; those that fail at once have failed when they are returned. */
public final class RemoteSessions implements OtherRange, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds; OtherSessions has one question of each kind on its way.
   * Failure: a question that was on its way over a lost link fails. Later ones wait for the next link.
   */
  private final CallLinks links;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param node as the leader of the range is to know this caller; no two callers have one name
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public RemoteSessions(String node, long incarnation, CallLinks.Network network, Executor owner, CallBounds bounds) {
    links = new CallLinks(RangeQuestionCodec.PROTOCOL, node, incarnation, network, owner, bounds);
  }

  /** Begins the first link; any thread, once. Completes when the leader of the range has taken one for the first time. */
  public CompletableFuture<Void> begin() {
    return links.begin();
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskSums()), 0, RangeQuestionCodec::decodeSums);
  }

  @Override
  public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskEnded(sessions)), 0, RangeQuestionCodec::decodeFlags);
  }

  @Override
  public void close() {
    links.close();
  }
}
