package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.inbox.OpenExchange;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The copy of one message for one shared subscription that no member took at once. It exists until a member takes it or
 * it is dropped.
 */
final class GroupCopy {
  /*
   * Owner: the loop that it is on; a LoopBatch hands it over whole.
   * Bounds: it holds credit of its lane, for one message and its bytes, until it is settled or goes back to the dist
   * tier. Its deadline is set once, by the loop on which it first waits, and stays when it moves to other loops.
   */
  final Publication message;
  final FilterHandle filter;

  /** Expects one answer for this copy; null for none. */
  final @Nullable Acknowledgement acknowledgement;

  /** The loop that it arrived on, whose lane's credit it holds. */
  final Loop lane;

  boolean holdsCredit = true;

  /**
   * Called while this copy waits on the loop that it arrived on; null elsewhere, or if its publisher cannot be held
   * back.
   */
  @Nullable Feedback feedback;

  /** The member that the next loop offers it to first. */
  @Nullable Subscriber member;

  /** How often it was passed to another loop since it last waited. */
  int passes;

  boolean waits;
  boolean hasDeadline;
  long deadlineNanos;

  /** Whether the session tier was asked, and when it may be asked again. */
  boolean asked;

  long askAgainNanos;

  /**
   * Whether the session tier may have the message of an exchange, because a call has failed without an answer. No other member gets it until the tier has
   * answered.
   */
  boolean mayBeStored;

  GroupCopy(
      Publication message,
      FilterHandle filter,
      @Nullable Acknowledgement acknowledgement,
      Loop lane,
      @Nullable Feedback feedback) {
    this.message = message;
    this.filter = filter;
    this.acknowledgement = acknowledgement;
    this.lane = lane;
    this.feedback = feedback;
  }

  /** Whether its QoS is 1 or 2. */
  boolean acknowledged() {
    return message.qos() != QoS.AT_MOST_ONCE;
  }

  /** Whether a member has left it behind, so that its publisher has been answered. */
  boolean isLeftBehind() {
    return acknowledgement == null && acknowledged();
  }

  /** The recorded exchange that the message belongs to, by which the session tier recognises it; null for none. */
  @Nullable OpenExchange exchange() {
    var exchange = message.exchange();
    var origin = acknowledgement == null ? null : acknowledgement.terms().origin();
    if (exchange == null || origin == null) return null;
    return new OpenExchange(exchange.packetId(), exchange.epoch(), Terms.Origin.fromRecord(origin.stream(), origin.number(), List.of()));
  }

  boolean ordered() {
    return filter.filter().ordered();
  }

  int size() {
    return message.body().length;
  }
}
