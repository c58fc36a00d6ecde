package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A message of a {@link SendingStream} that is not answered.
 *
 * @param <A> what accompanies it
 */
final class Pending<A> {
  // Owner: the lane's thread, as of its stream.

  /** The frame of a message that is not sent on its link. */
  static final long UNSENT = Long.MAX_VALUE;

  final QoS qos;
  final int size;
  final @Nullable Feedback feedback;
  final @Nullable Acknowledgement acknowledgement;

  /** The message, while it waits, and if it may have to be sent again. */
  @Nullable Publication message;

  /** The message, if a trace follows it and would be to note its loss. */
  final @Nullable Publication followed;

  /** What accompanies it, for as long as the message is kept. */
  @Nullable A accompanying;

  final Terms terms;

  /** Until when it may be sent again, in nanoseconds. */
  final long deadline;

  /** The message's number on the lane, over all links. */
  final long number;

  /** How many messages of the lane had an origin before it came. */
  long recordedBefore;

  /** The frame of the present link that has the message. */
  long frame = UNSENT;

  /** Whether the other side has said that it has not delivered the message. */
  boolean returned;

  /** Whether the message may have been delivered over an earlier link. */
  boolean repeated;

  /** What was picked for its groups. */
  List<Long> picked = List.of();

  /** The number of its copies that wait for a group. */
  int waiting;

  Pending(
      Publication message,
      A accompanying,
      @Nullable Feedback feedback,
      @Nullable Acknowledgement acknowledgement,
      long number,
      @Nullable Repeating repeating,
      long deadline,
      UnacknowledgedDrops drops) {
    this.qos = message.qos();
    this.size = message.body().length;
    this.feedback = feedback;
    this.acknowledgement = acknowledgement;
    this.terms = acknowledgement == null ? Terms.ANSWERED : acknowledgement.terms();
    this.number = number;
    this.message = repeating == null ? null : message;
    this.accompanying = repeating == null ? null : accompanying;
    this.followed = isUnacknowledged() ? drops.followed(message) : null;
    this.deadline = deadline;
  }

  /** Beyond the bound, the earliest is forgotten. */
  void picks(long shard) {
    if (picked.isEmpty()) picked = new ArrayList<>(1);
    picked.remove(Long.valueOf(shard));
    if (picked.size() == Terms.Origin.PICKED_MAX) picked.removeFirst();
    picked.add(shard);
  }

  void waits() {
    waiting++;
    if (feedback != null) feedback.waits(qos, size);
  }

  void waitsNoLonger() {
    waiting--;
    if (feedback != null) feedback.waitsNoLonger(qos, size);
  }

  /** Whether no publisher learns that it is lost. */
  boolean isUnacknowledged() {
    return acknowledgement == null || qos == QoS.AT_MOST_ONCE;
  }

  boolean isForsaken() {
    return acknowledgement != null && acknowledgement.isForsaken();
  }

  /** Undoes the feedback of its link. */
  void waitsNowhere() {
    while (waiting > 0) waitsNoLonger();
  }

  /** Whether it is allowed to arrive once more if it has arrived. */
  boolean mayComeAgain() {
    return switch (qos) {
      case AT_MOST_ONCE -> false;
      case AT_LEAST_ONCE -> true;
      case EXACTLY_ONCE -> message != null && message.exchange() != null;
    };
  }
}
