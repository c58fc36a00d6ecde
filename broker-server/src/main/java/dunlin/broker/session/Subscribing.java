package dunlin.broker.session;

import dunlin.broker.codec.RequestedSubscription;
import dunlin.inbox.InboxClient;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A SUBSCRIBE packet that is not answered yet; MQTT 5, sections 3.8 and 3.9.
 *
 * <p>Each of its topic filters has a reason code of its own, in their order. Equal ones are one subscription, with the options of the last one: one is
 * stored, and one is waited for.
 */
final class Subscribing {
  /*
   * Owner: the connection's event loop.
   * Bounds: eight bytes for each topic filter of the packet; everything else is there once for equal ones. What it counts for is estimated before they
   * are looked at, so equal ones count as if they were different.
   */
  /** Estimated heap that a topic filter takes until it is answered: the objects here, and those of the tier that is waited for. */
  private static final int FILTER_BYTES = 256;

  private static final int TEXTS = 2;

  final int packetId;

  /** Estimated heap. */
  final int bytes;

  final ReasonCode[] reasons;

  /** Subscriptions whose retained messages are sent after the answer, with the options of the last equal one that asks for them. */
  final LinkedHashMap<TopicFilter, SubscriptionOptions> retainedDue = new LinkedHashMap<>(2);

  @Nullable String explanation;

  /** What it waits for, and one until the packet was looked at. */
  int left = 1;

  /** For a topic filter, the index of the next equal one; null if all are different. */
  private int @Nullable [] equal;

  /** A topic filter of the packet that is granted, once for equal ones. */
  static final class Granted {
    final TopicFilter filter;
    final Subscriptions.Entry entry;
    final boolean isNew;
    private final int first;
    private int last;

    /**
     * @param isNew whether the packet has brought the subscription
     * @param index in the packet
     */
    Granted(TopicFilter filter, Subscriptions.Entry entry, boolean isNew, int index) {
      this.filter = filter;
      this.entry = entry;
      this.isNew = isNew;
      this.first = index;
      this.last = index;
    }
  }

  Subscribing(int packetId, int filters, int bytes) {
    this.packetId = packetId;
    this.bytes = bytes;
    this.reasons = new ReasonCode[filters];
  }

  /** Estimated heap of a packet with these topic filters until it is answered. */
  static int bytesOf(List<RequestedSubscription> asked) {
    return asked.stream().mapToInt(each -> bytesOf(each.filter())).sum();
  }

  /** The same of one topic filter. */
  static int bytesOf(String filter) {
    return FILTER_BYTES + TEXTS * filter.length();
  }

  /** Notes another topic filter that is equal to one which is granted. */
  void again(Granted granted, int index) {
    if (equal == null) equal = new int[reasons.length];
    equal[granted.last] = index;
    granted.last = index;
  }

  /** The index of the first one that is granted. */
  int firstGranted() {
    for (int i = 0; i < reasons.length; i++) if (!reasons[i].isError()) return i;
    throw new IllegalStateException("none is granted: " + Arrays.toString(reasons));
  }

  /** Refuses a topic filter that was granted, and those that are equal. Answers the index of the first one. */
  int refuse(Granted granted, ReasonCode reason) {
    int index = granted.first;
    reasons[index] = reason;
    while (equal != null && index != granted.last) {
      index = equal[index];
      reasons[index] = reason;
    }
    retainedDue.remove(granted.filter);
    return granted.first;
  }

  /** Refuses all that were granted. */
  void refuseAll(ReasonCode reason) {
    for (int i = 0; i < reasons.length; i++) if (!reasons[i].isError()) reasons[i] = reason;
    retainedDue.clear();
  }

  /** What is to be stored, of these. */
  static List<InboxClient.Subscription> subscriptions(Collection<Granted> granted) {
    List<InboxClient.Subscription> all = new ArrayList<>(granted.size());
    for (Granted each : granted) all.add(new InboxClient.Subscription(each.filter, each.entry.options));
    return all;
  }
}
