package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import org.jspecify.annotations.Nullable;

/** What one shared subscription is to get of one message, from when no member took it at once until one has, or it is dropped. */
final class GroupCopy {
  /*
   * Owner: the loop that it is on; a LoopBatch hands it over whole.
   * Bounds: it holds credit of its lane, for one message and its bytes, as long as it exists. Its deadline is set once, by the
   *   loop on which it first has to wait, and goes with it to other loops.
   */
  final Publication message;
  final FilterHandle filter;

  /** Expects one answer of this; null for none. */
  final @Nullable Acknowledgement acknowledgement;

  /** The loop that it came in on, whose lane's credit it holds. */
  final Loop lane;

  /** Called while this waits on the loop that it came in on; null elsewhere, or when its publisher cannot be held up. */
  @Nullable Feedback feedback;

  /** Whom the loop that it is passed to asks first. */
  @Nullable Subscriber member;

  /** How often it was passed to another loop since it waited last. */
  int passes;

  boolean waits;
  boolean hasDeadline;
  long deadlineNanos;

  /** Whether the session tier was asked, and from when on it may be asked again. */
  boolean asked;

  long askAgainNanos;

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

  /** Whether it is of QoS 1 or 2. */
  boolean acknowledged() {
    return message.qos() != QoS.AT_MOST_ONCE;
  }

  boolean ordered() {
    return filter.filter().ordered();
  }

  int size() {
    return message.body().length;
  }
}
