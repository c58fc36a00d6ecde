package dunlin.broker.fanout;

import dunlin.model.Publication;
import dunlin.model.QoS;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Messages that wait on one event loop for the same members: those of one group, or, in an ordered group, those of one publisher to
 * it. QoS 0 has lines of its own, since it waits for another time.
 */
final class GroupLine {
  /*
   * Owner: the event loop.
   * Bounds: each message in it holds credit of its lane.
   * In an ordered group the line keeps the order in which the messages came. In any other the one whose time is up first is first:
   *   it may have waited on another loop before.
   */
  private static final Comparator<GroupCopy> BY_DEADLINE =
      (one, other) -> Long.signum(one.deadlineNanos - other.deadlineNanos);

  final Place place;
  private final @Nullable ArrayDeque<GroupCopy> inOrder;
  private final Queue<GroupCopy> copies;

  /** In an ordered group: the session tier works on the first one, and the others wait for what it says. */
  boolean firstIsAtSessionTier;

  /**
   * Who waits in the same line.
   *
   * @param publisher the client identifier in an ordered group, else empty
   */
  record Place(FilterHandle filter, boolean acknowledged, String publisher) implements Comparable<Place> {
    static Place of(Publication message, FilterHandle filter) {
      String publisher = filter.filter().ordered() ? message.publisher().clientId() : "";
      return new Place(filter, message.qos() != QoS.AT_MOST_ONCE, publisher);
    }

    /** For places of equal hashes: clients choose their identifiers. */
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

  /** Puts back what was taken out. */
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

  /** Whether nothing waits, nor will come back to the front. */
  boolean isDone() {
    return copies.isEmpty() && !firstIsAtSessionTier;
  }
}
