package dunlin.model;

/**
 * The options of one subscription; MQTT 5, section 3.8.3.1.
 *
 * @param maximumQoS the highest QoS at which the server may send
 * @param noLocal whether the client's own publishes are excluded
 * @param retainAsPublished whether the RETAIN flag is passed on as it was published
 * @param retainHandling when retained messages are sent: 0 always, 1 for a new subscription only, 2 never
 * @param subscriptionIdentifier 1 to 268,435,455, or 0 for none
 */
public record SubscriptionOptions(
    QoS maximumQoS, boolean noLocal, boolean retainAsPublished, int retainHandling, int subscriptionIdentifier) {

  /** The largest subscription identifier, that of a four-byte variable byte integer. */
  public static final int SUBSCRIPTION_IDENTIFIER_MAX = 268_435_455;

  private static final int RETAIN_HANDLINGS = 3;

  /** All options without a subscription identifier, by {@link #place}. */
  private static final SubscriptionOptions[] PLAIN = plain();

  public SubscriptionOptions {
    if (retainHandling < 0 || retainHandling > 2) {
      throw new IllegalArgumentException("retain handling " + retainHandling);
    }
    if (subscriptionIdentifier < 0 || subscriptionIdentifier > SUBSCRIPTION_IDENTIFIER_MAX) {
      throw new IllegalArgumentException("subscription identifier " + subscriptionIdentifier);
    }
  }

  /** The options of an MQTT 3 subscription, which only has a QoS. */
  public static SubscriptionOptions of(QoS maximumQoS) {
    return new SubscriptionOptions(maximumQoS, false, false, 0, 0);
  }

  private static SubscriptionOptions[] plain() {
    var plain = new SubscriptionOptions[QoS.values().length * 4 * RETAIN_HANDLINGS];
    for (QoS qos : QoS.values()) {
      for (int i = 0; i < 4 * RETAIN_HANDLINGS; i++) {
        var options = new SubscriptionOptions(qos, (i & 2) != 0, (i & 1) != 0, i / 4, 0);
        plain[options.place()] = options;
      }
    }
    return plain;
  }

  private int place() {
    int flags = (noLocal ? 2 : 0) + (retainAsPublished ? 1 : 0);
    return (maximumQoS.code() * 4 + flags) * RETAIN_HANDLINGS + retainHandling;
  }

  /** A shared instance of equal options, to be stored: there is one for all subscriptions without an identifier. */
  public SubscriptionOptions shared() {
    return subscriptionIdentifier == 0 ? PLAIN[place()] : this;
  }
}
