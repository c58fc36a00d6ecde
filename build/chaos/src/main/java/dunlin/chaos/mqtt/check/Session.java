package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.Received;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** One session of one client, as seen by the client: from a CONNACK without Session Present to its end. */
public final class Session {
  /*
   * Owner: the thread that builds the Facts; any thread reads it once they are built.
   */
  static final long OPEN = Long.MAX_VALUE;

  /**
   * A subscription.
   *
   * @param untilNanos when UNSUBSCRIBE was sent
   * @param goneNanos when UNSUBACK came
   */
  public record Subscription(long askedNanos, long fromNanos, String filter, int qos, long untilNanos, long goneNanos) {}

  public final Connected begin;
  public final List<Connected> connections = new ArrayList<>();
  public final Map<Integer, Ended> ends = new HashMap<>();
  public final List<Subscription> subscriptions = new ArrayList<>();

  /** Of each SUBSCRIBE, also of those without SUBACK: nothing is promised for them, and their messages may come. */
  private final List<Subscription> attempts = new ArrayList<>();

  public final List<Received> received = new ArrayList<>();
  public final List<Event.Answered> answered = new ArrayList<>();
  long endNanos = OPEN;

  Session(Connected begin) {
    this.begin = begin;
  }

  public String client() {
    return begin.client();
  }

  public boolean durable() {
    return begin.expirySeconds() > 0;
  }

  /** The filter of the session's group, if it is a member of one, or may be one without SUBACK; members have no other subscriptions. */
  public Optional<String> group() {
    return possibleSubscriptions().map(Subscription::filter).filter(Filters::shared).findFirst();
  }

  public boolean aliveAt(long nanos) {
    return begin.nanos() <= nanos && nanos < endNanos;
  }

  void subscribed(Event.Subscribed event) {
    subscriptions.add(new Subscription(event.askedNanos(), event.nanos(), event.filter(), event.qos(), OPEN, OPEN));
  }

  /** The subscriptions, also those that were asked for and not granted. */
  Stream<Subscription> possibleSubscriptions() {
    return Stream.concat(subscriptions.stream(), attempts.stream());
  }

  void subscribing(String filter, long nanos) {
    attempts.add(new Subscription(nanos, OPEN, filter, 0, OPEN, OPEN));
  }

  void unsubscribing(String filter, long nanos) {
    unsubscribing(subscriptions, filter, nanos);
    unsubscribing(attempts, filter, nanos);
  }

  private static void unsubscribing(List<Subscription> all, String filter, long nanos) {
    all.replaceAll(
        each ->
            each.filter.equals(filter) && each.untilNanos == OPEN
                ? new Subscription(each.askedNanos, each.fromNanos, filter, each.qos, nanos, OPEN)
                : each);
  }

  void unsubscribed(String filter, long nanos) {
    unsubscribed(subscriptions, filter, nanos);
    unsubscribed(attempts, filter, nanos);
  }

  private static void unsubscribed(List<Subscription> all, String filter, long nanos) {
    all.replaceAll(
        each ->
            each.filter.equals(filter) && each.untilNanos != OPEN && each.goneNanos == OPEN
                ? new Subscription(each.askedNanos, each.fromNanos, filter, each.qos, each.untilNanos, nanos)
                : each);
  }
}
