package dunlin.broker.fanout;

import dunlin.model.Publication;
import dunlin.model.QoS;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Messages that wait on one event loop for the same members: those of one group, or, in an ordered group, those of one
 * publisher. QoS 0 has separate lines, because it waits for a different time.
 */
final class GroupLine {
  /*
   * Owner: the event loop.
   * Bounds: each message in it holds credit of its lane.
   * In an ordered group, the line keeps the order in which the messages arrived. In other groups, the message with the
   * earliest deadline is first, because it may have waited on another loop before.
   */
  private static final Comparator<GroupCopy> BY_DEADLINE =
      (one, other) -> Long.signum(one.deadlineNanos - other.deadlineNanos);

  final Place place;
  private final @Nullable ArrayDeque<GroupCopy> inOrder;
  private final Queue<GroupCopy> copies;

  /** In an ordered group: whether the session tier has the first message and the others wait for its answer. */
  boolean firstIsAtSessionTier;

  /**
   * Identifies a line.
   *
   * @param publisher the client identifier in an ordered group, else empty
   */
  record Place(FilterHandle filter, boolean acknowledged, String publisher) implements Comparable<Place> {
    static Place of(Publication message, FilterHandle filter) {
      String publisher = filter.filter().ordered() ? message.publisher().clientId() : "";
      return new Place(filter, message.qos() != QoS.AT_MOST_ONCE, publisher);
    }

    /** For places with equal hashes, because clients choose their identifiers. */
    @Override
    public int compareTo(Place other) {
      int byFilter = Integer.compare(filter.number(), other.filter.number());
      if (byFilter != 0) return byFilter;
      int byKind = Boolean.compare(acknowledged, other.acknowledged);
      return byKind != 0 ? byKind : publisher.compareTo(other.publisher);
    }
  }

  GroupLine(Place place) {
    this.place = place;
    this.inOrder = place.filter().filter().ordered() ? new ArrayDeque<>(4) : null;
    this.copies = inOrder == null ? new PriorityQueue<>(4, BY_DEADLINE) : inOrder;
  }

  boolean ordered() {
    return inOrder != null;
  }

  void add(GroupCopy copy) {
    copies.add(copy);
  }

  /** Puts back a copy that was removed. */
  void putBack(GroupCopy copy) {
    if (inOrder == null) copies.add(copy);
    else inOrder.addFirst(copy);
  }

  @Nullable GroupCopy peek() {
    return copies.peek();
  }

  @Nullable GroupCopy poll() {
    return copies.poll();
  }

  /** Whether no message waits or may return to the front. */
  boolean isDone() {
    return copies.isEmpty() && !firstIsAtSessionTier;
  }
}
