package dunlin.inbox.remote;

import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import dunlin.runtime.Failures;
import dunlin.store.StoreException;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.LinkRefusedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls of a frontend in another process, as they arrive at the session tier: it makes them, in their order, and sends the answers. */
public final class InboxCalls implements Link.Handler {
  /*
   * Owner: the link's thread, which makes all calls: thousands of CONNECTs may have waited for one thread of the tier, which has other work. Answers come from any thread and go through RemoteConnections, so the answer to a CONNECT is in front of the
   *   pushes that come after it. When it is there before the call has returned, the thread that applies the log may overtake it with a push; the
   *   connection then reads its inbox.
   * Bounds: UNANSWERED_MAX calls that are not answered, more than a frontend makes: beyond, the link is ended. Their encoded bytes are bounded by RemoteInbox at the
   *   frontend; the objects of SUBSCRIBEs and UNSUBSCRIBEs, which are many times larger, by UnansweredCalls in the tier. An answer of more than
   *   ANSWER_BYTES_MAX becomes a failure, and a session that was opened with one is taken from its connection again.
   * Failure: a frame that cannot be read ends the link, and so does an acknowledgement that cannot be handed on; a call that throws is answered
   *   so. With a lost link, the tier detaches the frontend, and answers that were not sent are dropped. The frontend may keep its connections: it
   *   compares them over its next link.
   *   A call that may be made twice is not answered when another node leads its range, or when it is unknown whether it was done: the link is
   *   interrupted, and the frontend makes the call again, at the next leader.
   *   A CONNECT that may have been on its way for longer than LATE is not made, and fails: its client may have given up, and have got a connection at another frontend since, from which it would
   *   take the session (Link.isLate). So it is with a message for the durable members of a group: the exchange by which it would be recognised may have been released, and others have got it.
   * Lease: most calls are commands, which a leader that was deposed cannot have committed. What is only read (a page, who has a session, or that a group has no
   *   member here) is answered behind a proof that this node has led the range since: a later leader may have taken the session to another connection.
   */
  private static final Logger LOG = LoggerFactory.getLogger(InboxCalls.class);
  private static final int UNANSWERED_MAX = 1 << 20;
  private static final int ANSWER_BYTES_MAX = 16 << 20;

  /** Longer than links are silent in a healthy network, and shorter than clients wait. */
  private static final Duration LATE = Duration.ofSeconds(3);

  /**
   * A frontend as the session tier has taken it.
   *
   * @param inbox what its calls are made to
   * @param ready completes when its life is attached, on any thread; until then CONNECT waits. When it fails, the tier ends the link
   */
  public record Attachment(InboxClient inbox, CompletableFuture<Void> ready) {}

  /** The session tier, which frontends come to. On the links' thread. */
  public interface Tier {
    /**
     * A frontend has begun a link. Its connections are reached from now on; what is said to them at once is kept for it.
     *
     * @throws LinkRefusedException when it may not
     */
    Attachment attach(InboxOpening frontend, RemoteConnections connections);

    /**
     * That link is lost. Unless the frontend has begun a later one, its connections count as lost. Called once, and not when this side has
     * {@linkplain RemoteConnections#close closed} it.
     */
    void detach(InboxOpening frontend, RemoteConnections connections, String reason);

    /** That link is to be closed. No connection is lost: the frontend goes on over another link. */
    void interrupt(InboxOpening frontend, RemoteConnections connections, String reason);

    /**
     * Completes when it is sure that this node has led the range until this was called, so that what was read before is right. Else fails as the range does.
     * Any thread.
     */
    CompletableFuture<@Nullable Void> proof();
  }

  private final Link link;
  private final Executor owner;
  private final InboxOpening frontend;
  private final Tier tier;
  private final RemoteConnections connections;
  private final InboxClient inbox;

  /** Completes on the link's thread, when its life is attached and all CONNECTs that have come by now were made. */
  private CompletableFuture<Void> turn;

  private long calls;
  private int unanswered;

  private InboxCalls(Link link, Executor owner, InboxOpening frontend, RemoteConnections.Bounds bounds, UnacknowledgedDrops drops, Tier tier) {
    this.link = link;
    this.owner = owner;
    this.frontend = frontend;
    this.tier = tier;
    connections = new RemoteConnections(link, owner, frontend, bounds, drops);
    link.noteSilence(LATE);
    var attachment = tier.attach(frontend, connections);
    inbox = attachment.inbox();
    turn = attachment.ready().thenRunAsync(connections::attached, owner);
  }

  /**
   * Takes the links of frontends.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order
   * @param bounds of the pushes for each frontend
   * @param drops counts the pushes of QoS 0 that frontends are not sent
   */
  public static LinkAcceptor.Factory factory(Executor owner, RemoteConnections.Bounds bounds, UnacknowledgedDrops drops, Tier tier) {
    return (link, opening) -> new InboxCalls(link, owner, InboxOpening.decode(opening).of(link.caller()), bounds, drops, tier);
  }

  @Override
  public void received(byte[] frame) {
    var in = new FrameReader(frame);
    try {
      while (in.hasMore() && !link.isLost()) take(InboxCallCodec.decode(in.bytes()));
    } catch (MalformedFrameException e) {
      LOG.error("Frontend {} has sent a frame that cannot be read: {}", frontend.frontend(), e.getMessage());
      end("it has sent a frame that cannot be read: " + e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("What frontend {} has sent could not be handed on; its link is ended", frontend.frontend(), e);
      end("what it has sent could not be handed on");
    }
  }

  private void end(String reason) {
    if (link.isLost()) return;
    link.close();
    lost(reason);
  }

  @Override
  public void lost(String reason) {
    connections.end();
    tier.detach(frontend, connections, reason);
  }

  @Override
  public void confirmed() {
    connections.confirmed();
  }

  private void take(InboxCall call) throws MalformedFrameException {
    switch (call) {
      case InboxCall.Asking asking -> {
        if (unanswered == UNANSWERED_MAX) throw new MalformedFrameException(UNANSWERED_MAX + " calls are not answered");
        unanswered++;
        ask(asking, ++calls);
      }
      case InboxCall.Acknowledge(var session, var sequences) -> inbox.acknowledge(session, sequences);
      case InboxCall.Missing(var connection) -> inbox.missing(connection);
      case InboxCall.HasSettled(var question) -> connections.hasSettled(question);
      case InboxCall.AreMissing(var question, var missing) -> connections.areMissing(question, missing);
    }
  }

  private void ask(InboxCall.Asking asking, long number) {
    switch (asking) {
      case InboxCall.Connect(var request) ->
          answerOnce(number, AnswerForm.CONNECTED, inTime(() -> connect(request)), () -> inbox.missing(request.connection()));
      case InboxCall.Subscribe(var session, var subscriptions) -> answer(number, AnswerForm.FLAGS, () -> inbox.subscribe(session, subscriptions));
      case InboxCall.Unsubscribe(var session, var filters) -> answer(number, AnswerForm.FLAGS, () -> inbox.unsubscribe(session, filters));
      case InboxCall.Disconnect(var session, var publishWill, var expirySeconds) ->
          answer(number, AnswerForm.NOTHING, () -> inbox.disconnect(session, publishWill, expirySeconds));
      case InboxCall.Settled(var displaced) -> answer(number, AnswerForm.NOTHING, () -> inbox.settled(displaced));
      case InboxCall.Append(var session, var options, var from, var retained) ->
          answer(number, AnswerForm.APPENDED, () -> inbox.append(session, options, from, retained));
      case InboxCall.AppendToGroup(var group, var message, var exchange) ->
          answerOnce(number, AnswerForm.FLAG, inTime(() -> appendToGroup(group, message, exchange)), () -> {});
      case InboxCall.Received(var session, var sequence) -> answer(number, AnswerForm.NOTHING, () -> inbox.received(session, sequence));
      case InboxCall.Released(var session, var birth, var packetId) -> answer(number, AnswerForm.NOTHING, () -> inbox.released(session, birth, packetId));
      case InboxCall.Forget(var session, var birth, var packetId) -> answer(number, AnswerForm.NOTHING, () -> inbox.forget(session, birth, packetId));
      case InboxCall.Delivered(var session, var packetIds) -> answer(number, AnswerForm.NOTHING, () -> inbox.delivered(session, packetIds));
      case InboxCall.IsTakenOver(var session) -> answer(number, AnswerForm.FLAG, () -> inbox.isTakenOver(session).thenCompose(this::proved));
      case InboxCall.Fetch(var session, var from, var messagesMax, var bytesMax) ->
          answer(number, AnswerForm.PAGE, () -> inbox.fetch(session, from, messagesMax, bytesMax).thenCompose(this::proved));
      case InboxCall.Statistics() -> answerOnce(number, AnswerForm.STATISTICS, inbox::statistics, () -> {});
    }
  }

  /** A call that is made only if it has not come late. */
  private <T> Supplier<CompletableFuture<T>> inTime(Supplier<CompletableFuture<T>> call) {
    return link.isLate() ? () -> CompletableFuture.failedFuture(new StoreException("the call may have come late, so it was not made")) : call;
  }

  /** Makes a CONNECT in its turn. What waits for one future runs in no order, and an earlier CONNECT of a client must not take the place of a later one. */
  private CompletableFuture<InboxClient.Connected> connect(InboxClient.Connect request) {
    var connected = turn.thenApply(_ -> made(() -> inbox.connect(request)));
    turn = connected.thenRun(() -> {});
    return connected.thenCompose(answer -> answer);
  }

  /** That a message was taken is in the log; that there is no member to take it was only read. */
  private CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return inbox.appendToGroup(group, message, exchange).thenCompose(taken -> taken ? CompletableFuture.completedFuture(true) : proved(false));
  }

  private <T> CompletableFuture<T> proved(T read) {
    return tier.proof().thenApply(_ -> read);
  }

  /** Of a call that may be made twice. */
  private <T> void answer(long number, AnswerForm<T> form, Supplier<CompletableFuture<T>> call) {
    var _ =
        made(call)
            .whenComplete(
                (value, failure) -> {
                  if (failure != null && StoreException.isForNextLeader(Failures.unwrapped(failure)))
                    owner.execute(() -> interrupt(String.valueOf(failure.getMessage())));
                  else answer(number, failure, () -> form.encode(value), () -> {});
                });
  }

  /**
   * Of a call that may not.
   *
   * @param undo what is done when the answer cannot be given
   */
  private <T> void answerOnce(long number, AnswerForm<T> form, Supplier<CompletableFuture<T>> call, Runnable undo) {
    var _ = made(call).whenComplete((value, failure) -> answer(number, failure, () -> form.encode(value), undo));
  }

  private static <T> CompletableFuture<T> made(Supplier<CompletableFuture<T>> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void interrupt(String reason) {
    if (!link.isLost()) tier.interrupt(frontend, connections, reason);
  }

  private void answer(long number, @Nullable Throwable failure, Supplier<byte[]> value, Runnable undo) {
    connections.answer(
        number,
        () -> {
          unanswered--;
          if (failure != null) return AnswerForm.encodeFailure(failure);
          byte[] encoded = value.get();
          if (encoded.length <= ANSWER_BYTES_MAX) return encoded;
          undo.run();
          String why = "an answer of " + encoded.length + " bytes, the most are " + ANSWER_BYTES_MAX;
          return AnswerForm.encodeFailure(new StoreException(why));
        });
  }
}
