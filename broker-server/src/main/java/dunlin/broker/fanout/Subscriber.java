package dunlin.broker.fanout;

import dunlin.model.Roster;
import dunlin.model.SubscriptionOptions;

/** One subscription of one live session, as an element of a filter's list or of a group. */
public final class Subscriber implements Roster.Placed {
  private static final int[] NONE = {};

  final Recipient session;
  public final FilterHandle filter;

  private SubscriptionOptions options;
  private int[] identifiers;

  /** Messages of its group that it has taken; belongs to the event loop of its session. */
  private long taken;

  /** Its index in its list or group, which sets it. */
  private int place = -1;

  public Subscriber(Recipient session, FilterHandle filter, SubscriptionOptions options) {
    this.session = session;
    this.filter = filter;
    this.options = options;
    this.identifiers = identifiers(options);
  }

  @Override
  public int place() {
    return place;
  }

  @Override
  public void place(int at) {
    place = at;
  }

  /** The client identifier of its session; any thread. */
  public String clientId() {
    return session.clientId();
  }

  /** Notes that it has taken a message of its group. On the loop of its session. */
  void takes() {
    taken++;
  }

  /** Messages of its group that it has taken since it has subscribed. On the loop of its session. */
  public long taken() {
    return taken;
  }

  public SubscriptionOptions options() {
    return options;
  }

  public int[] identifiers() {
    return identifiers;
  }

  /** Replaces the options when the same filter is subscribed again, without missing a message [MQTT-3.8.4-3]. */
  public void replaceOptions(SubscriptionOptions replacement) {
    options = replacement;
    identifiers = identifiers(replacement);
  }

  private static int[] identifiers(SubscriptionOptions options) {
    return options.subscriptionIdentifier() == 0 ? NONE : new int[] {options.subscriptionIdentifier()};
  }
}
