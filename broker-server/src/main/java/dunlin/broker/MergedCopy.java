package dunlin.broker;

import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What several subscriptions of one session that a message matched ask for together, so that it gets one copy: with the highest QoS and
 * all subscription identifiers [MQTT-3.3.4-2, -3].
 */
final class MergedCopy {
  /*
   * Owner: the connection's event loop. Empty but while a message is being handed out.
   */
  private @Nullable SubscriptionOptions options;
  private int[] identifiers = {};

  /** Adds a subscription; answers whether it is the first. */
  boolean add(Subscriber subscriber) {
    SubscriptionOptions added = subscriber.options();
    SubscriptionOptions before = options;
    if (before == null) {
      options = added;
      identifiers = subscriber.identifiers();
      return true;
    }
    QoS qos = before.maximumQoS().code() >= added.maximumQoS().code() ? before.maximumQoS() : added.maximumQoS();
    boolean retain = before.retainAsPublished() || added.retainAsPublished();
    options = new SubscriptionOptions(qos, false, retain, 0, 0);
    identifiers = concat(identifiers, subscriber.identifiers());
    return false;
  }

  /** The subscription identifiers of what was last added up. */
  int[] identifiers() {
    return identifiers;
  }

  /** What they ask for together, or null when there is none; it is empty again. */
  @Nullable SubscriptionOptions take() {
    SubscriptionOptions taken = options;
    options = null;
    return taken;
  }

  private static int[] concat(int[] some, int[] others) {
    if (others.length == 0) return some;
    if (some.length == 0) return others;
    int[] all = Arrays.copyOf(some, some.length + others.length);
    System.arraycopy(others, 0, all, some.length, others.length);
    return all;
  }
}
