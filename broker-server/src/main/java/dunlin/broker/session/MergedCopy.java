package dunlin.broker.session;

import dunlin.broker.fanout.Subscriber;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Merges several subscriptions of one session that a message matched, so that it gets one copy: with the highest QoS
 * and all subscription identifiers [MQTT-3.3.4-2, -3].
 */
final class MergedCopy {
  /*
   * Owner: the connection's event loop. Empty except while a message is handed out.
   * Bounds: by the session's subscriptions. Adding one takes constant time on average.
   */
  private static final int ROOM_MIN = 8;

  private @Nullable SubscriptionOptions first;
  private QoS qos = QoS.AT_MOST_ONCE;
  private boolean retain;
  private boolean several;

  /** At first the array of the first subscription; a copy from the second one with identifiers on. */
  private int[] identifiers = {};

  private int count;
  private boolean copied;

  /** Adds a subscription; answers whether it is the first. */
  boolean add(Subscriber subscriber) {
    SubscriptionOptions added = subscriber.options();
    if (first == null) {
      first = added;
      qos = added.maximumQoS();
      retain = added.retainAsPublished();
      several = false;
      identifiers = subscriber.identifiers();
      count = identifiers.length;
      copied = false;
      return true;
    }
    several = true;
    if (added.maximumQoS().code() > qos.code()) qos = added.maximumQoS();
    retain |= added.retainAsPublished();
    append(subscriber.identifiers());
    return false;
  }

  private void append(int[] more) {
    if (more.length == 0) return;
    int needed = count + more.length;
    if (!copied || needed > identifiers.length) {
      identifiers = Arrays.copyOf(identifiers, Math.max(needed, Math.max(ROOM_MIN, count * 2)));
      copied = true;
    }
    System.arraycopy(more, 0, identifiers, count, more.length);
    count = needed;
  }

  /** The subscription identifiers of the last merged subscriptions. */
  int[] identifiers() {
    if (identifiers.length > count) identifiers = Arrays.copyOf(identifiers, count);
    return identifiers;
  }

  /** Takes the combined options, or null if there is no subscription; afterwards this object is empty. */
  @Nullable SubscriptionOptions take() {
    SubscriptionOptions taken = first;
    first = null;
    return taken == null || !several ? taken : new SubscriptionOptions(qos, false, retain, 0, 0);
  }
}
