package dunlin.inbox.server;

import dunlin.inbox.propose.Proposals;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.server.InboxMeters.Refusal;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Delivers QoS 1 and 2 messages for durable sessions through the log, and answers when they are stored. */
final class LoggedDelivery {
  /*
   * Owner: any thread; messages of one thread keep their order.
   * Bounds: stateless: a message waits in its line of Proposals, with credit of its publisher's lane.
   * Failure: a message that is not stored is answered with an error and counted. If the client will send it again,
   * later messages of its connection are refused, too. When this node does not lead the range any more, or does not know
   * the outcome, the answer is SERVER_UNAVAILABLE, also for later messages of the connection: the publisher's lane sends
   * them again to the next leader.
   */
  private final Proposals proposals;
  private final InstantSource clock;
  private final InboxMeters meters;

  LoggedDelivery(Proposals proposals, InstantSource clock, InboxMeters meters) {
    this.proposals = proposals;
    this.clock = clock;
    this.meters = meters;
  }

  /** @param exchange the exchange to record with the message; null for none */
  void deliver(
      Publication message, Publication.@Nullable Exchange exchange, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    var append = append(message, exchange, groups, acknowledgement);
    propose(append, append.fence(), acknowledgement, () -> {});
  }

  /**
   * Delivers a message of an exchange that another range records.
   *
   * @param birth the birth of its publisher's session
   * @param unknown called before the answer if it is unknown whether the message is stored
   */
  void deliverOfExchange(
      Publication message, long birth, Publication.Exchange exchange, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement, Runnable unknown) {
    var append = append(message, null, groups, acknowledgement);
    var command = new SessionCommand.AppendOfExchange(birth, exchange.epoch(), exchange.packetId(), append);
    propose(command, append.fence(), acknowledgement, unknown);
  }

  private SessionCommand.Append append(
      Publication message, Publication.@Nullable Exchange exchange, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    var terms = acknowledgement == null ? Terms.ANSWERED : acknowledgement.terms();
    boolean once = terms.publishedOnce();
    return SessionCommand.Append.of(clock.millis(), message, exchange, terms.origin(), groups, once, once ? 0 : terms.fence());
  }

  private void propose(SessionCommand command, long fence, @Nullable Acknowledgement acknowledgement, Runnable unknown) {
    boolean queued =
        proposals.inLine(
            command,
            result -> stored(result, fence, acknowledgement),
            failure -> {
              unknown.run();
              failed(failure, fence, acknowledgement);
            });
    if (!queued) refused(Refusal.BUSY, ReasonCode.SERVER_BUSY, fence, acknowledgement);
  }

  private void stored(SessionResult result, long fence, @Nullable Acknowledgement acknowledgement) {
    switch (result.outcome()) {
      case Outcome.Stale _ -> meters.refused(Refusal.STALE);
      case Outcome.Fenced _ -> meters.refused(Refusal.FENCED);
      case Outcome.Full _ -> proposals.refuse(fence);
      case Outcome.AllFull _ -> {
        meters.refused(Refusal.EXCHANGES);
        proposals.refuse(fence);
      }
      default -> {}
    }
    if (acknowledgement == null) return;
    // Of a message that a lane sends again, the exchange that is recorded is its own. So it is of a will, which may have been discarded before it is sent.
    var terms = acknowledgement.terms();
    if (result.outcome() instanceof Outcome.Repeated(var picked) && (terms.repeated() || terms.publishedOnce())) {
      acknowledgement.recorded(picked);
      acknowledgement.answer(ReasonCode.SUCCESS);
    } else {
      acknowledgement.answer(reason(result.outcome()));
    }
  }

  private void failed(StoreException failure, long fence, @Nullable Acknowledgement acknowledgement) {
    boolean open = StoreException.isForNextLeader(failure);
    if (open) proposals.leaveOpen(fence, failure);
    refused(Refusal.FAILED, open ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.UNSPECIFIED_ERROR, fence, acknowledgement);
  }

  private void refused(Refusal why, ReasonCode reason, long fence, @Nullable Acknowledgement acknowledgement) {
    meters.refused(why);
    proposals.refuse(fence);
    if (acknowledgement != null) acknowledgement.answer(reason);
  }

  private static ReasonCode reason(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Done _, Outcome.Connected _, Outcome.Existed _, Outcome.Appended _, Outcome.Imported _ -> ReasonCode.SUCCESS;
      case Outcome.Full _, Outcome.AllFull _ -> ReasonCode.QUOTA_EXCEEDED;
      case Outcome.OtherUser _ -> ReasonCode.NOT_AUTHORIZED;
      case Outcome.Stale _ -> ReasonCode.SESSION_TAKEN_OVER;
      case Outcome.Fenced _, Outcome.Picked _ -> ReasonCode.UNSPECIFIED_ERROR;
      // Frontends know the recorded exchanges and answer repeated PUBLISH packets themselves, so this is not certain to
      // be the same message.
      case Outcome.Repeated _ -> ReasonCode.PACKET_IDENTIFIER_IN_USE;
    };
  }
}
