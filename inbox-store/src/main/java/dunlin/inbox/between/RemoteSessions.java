package dunlin.inbox.between;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** A range of sessions, whichever node leads it. Futures complete on the links' thread; those that fail at once have failed when they are returned. */
public final class RemoteSessions implements OtherRange, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds; OtherSessions has one question of each kind on its way, HandOvers bounds the messages.
   * Failure: a call that was on its way over a lost link fails. Later questions wait for the next link, and messages do not.
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
  public CompletableFuture<List<Held>> held(List<String> tenants) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskHeld(tenants)), 0, RangeQuestionCodec::decodeHeld);
  }

  @Override
  public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskEnded(sessions)), 0, RangeQuestionCodec::decodeFlags);
  }

  @Override
  public CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskParts(groups)), 0, RangeQuestionCodec::decodeParts);
  }

  @Override
  public CompletableFuture<List<Boolean>> over(List<SetAside> numbers) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.AskOver(numbers)), 0, RangeQuestionCodec::decodeFlags);
  }

  /** Fails without a link: messages that waited for the next one could come after the range has forgotten their number. */
  @Override
  public CompletableFuture<Taken> store(SessionCommand messages) {
    if (!links.isReached()) return CompletableFuture.failedFuture(new StoreException("the leader of the other range is not reached"));
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.Store(messages)), 0, RangeQuestionCodec::decodeTaken);
  }

  @Override
  public CompletableFuture<Picked> pick(SessionCommand.PickForGroup pick) {
    return links.call(RangeQuestionCodec.encode(new RangeQuestion.Pick(pick)), 0, RangeQuestionCodec::decodePicked);
  }

  @Override
  public void close() {
    links.close();
  }
}
