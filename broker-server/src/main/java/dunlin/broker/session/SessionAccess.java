package dunlin.broker.session;

import dunlin.broker.access.Access;
import dunlin.broker.access.Coverage;
import dunlin.broker.access.Decision;
import dunlin.broker.access.Grant;
import dunlin.broker.access.Policy;
import dunlin.broker.access.Subject;
import dunlin.broker.access.Verdicts;
import dunlin.broker.meter.Denials;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one connected client may do, by the rules in force at that moment. Without access rules, no session has one.
 *
 * <p>A message reaches the client only if it may subscribe to the topic and receive it. This is checked where messages
 * are written for the client, whatever way they came: live, retained, out of the inbox, of a shared subscription or sent
 * again. Live messages of a session whose subscriptions are all allowed as a whole need no check.
 */
public final class SessionAccess {
  /*
   * Owner: the connection's event loop.
   * Bounds: a name for each group of the session's subscriptions, and the topic of the last publish that was allowed; verdicts are remembered in Verdicts.
   * Change of rules: the next question uses the new ones. Subscriptions that they do not allow any more are ended soon
   * after that by Subscriptions.checkAccess(), outside of any delivery; until then their messages are withheld.
   */
  private Subject client;
  private Grant grant;
  private final Verdicts verdicts;
  private final Denials denials;

  /** The policy of the last question. */
  private Policy applied;

  /** The last publish that was allowed. Most clients publish to the same topic again, which is then known without a look into the verdicts. */
  private @Nullable Permitted permitted;

  /** Whether each live message that can come is allowed, because every subscription is allowed as a whole. */
  private boolean whole = true;

  /** The groups of its subscriptions, and the empty name for those that are not shared. */
  private final List<String> groups = new ArrayList<>(1);

  /** A publish as rules see it. */
  private static final class Permitted {
    private final Policy by;
    private final byte[] topic;
    private final QoS qos;
    private final boolean retain;

    Permitted(Policy by, Publication message) {
      this.by = by;
      this.topic = Arrays.copyOf(message.body(), message.topicLength());
      this.qos = message.qos();
      this.retain = message.retain();
    }

    @SuppressWarnings("ReferenceEquality") // a policy that only equals this one is asked again, which is never wrong
    boolean covers(Policy now, Publication message) {
      return by == now && qos == message.qos() && retain == message.retain() && message.hasTopic(topic);
    }
  }

  public SessionAccess(Subject client, Grant grant, Verdicts verdicts, Denials denials) {
    this.client = client;
    this.grant = grant;
    this.verdicts = verdicts;
    this.denials = denials;
    this.applied = grant.policy();
    groups.add("");
  }

  /** Goes on with another policy of the same client, because it has authenticated again. */
  void replace(Subject again, Grant by) {
    client = again;
    grant = by;
  }

  private Policy policy() {
    Policy now = grant.policy();
    if (!now.equals(applied)) {
      applied = now;
      whole = false;
    }
    return now;
  }

  /** Whether the client may publish; a denial is counted and logged. */
  boolean mayPublish(Publication message) {
    Policy now = policy();
    if (permitted != null && permitted.covers(now, message)) return true;
    if (!mayPublish(now, Denials.Kind.PUBLISH, message.topic(), message.qos(), message.retain())) return false;
    permitted = new Permitted(now, message);
    return true;
  }

  /** Whether the client may publish such a message; a denial is counted and logged. */
  public boolean mayPublish(Denials.Kind kind, String topic, QoS qos, boolean retain) {
    return mayPublish(policy(), kind, topic, qos, retain);
  }

  private boolean mayPublish(Policy now, Denials.Kind kind, String topic, QoS qos, boolean retain) {
    if (verdicts.allows(now, Access.publish(topic, qos, retain))) return true;
    denied(kind, topic);
    return false;
  }

  /**
   * Whether a message may be sent to the client; a denial is counted and logged.
   *
   * @param live whether it came over a present subscription, and not out of an inbox
   */
  boolean mayReceive(Publication message, QoS qos, boolean retain, boolean live) {
    Policy now = policy();
    if (whole && live) return true;
    String topic = message.topic();
    if (verdicts.allows(now, Access.receive(topic, qos, retain)) && maySubscribe(now, topic)) return true;
    denied(Denials.Kind.RECEIVE, topic);
    return false;
  }

  /** What the rules in force say about sending a message to the client, for an operator: nothing is counted. */
  Decision receives(String topic, QoS qos, boolean retain) {
    Policy now = grant.policy();
    Decision received = now.decide(Access.receive(topic, qos, retain));
    if (!received.allowed()) return received;
    Decision subscribed = received;
    for (String group : groups) {
      subscribed = now.decide(Access.subscribe(topic, QoS.AT_MOST_ONCE, group));
      if (subscribed.allowed()) return received;
    }
    return subscribed;
  }

  /** The same about a publish of the client. */
  Decision publishes(String topic, QoS qos, boolean retain) {
    return grant.policy().decide(Access.publish(topic, qos, retain));
  }

  /** Which of the session's subscriptions a message came by is not always known; one that allows it is enough. */
  private boolean maySubscribe(Policy now, String topic) {
    for (String group : groups) {
      if (verdicts.allows(now, Access.subscribe(topic, QoS.AT_MOST_ONCE, group))) return true;
    }
    return false;
  }

  /**
   * The highest QoS, up to that asked for, with which a filter may be subscribed to; null if it may not; a denial is
   * counted and logged.
   */
  @Nullable QoS grant(TopicFilter filter, QoS asked) {
    for (int code = asked.code(); code >= 0; code--) {
      QoS qos = QoS.of(code);
      if (takes(filter, qos)) return qos;
    }
    denied(Denials.Kind.SUBSCRIBE, filter.text());
    return null;
  }

  /** Begins to look at all subscriptions again; {@link #keeps} is called for each of them. */
  void beginAgain() {
    applied = grant.policy();
    whole = true;
    groups.clear();
    groups.add("");
  }

  /** Whether a subscription may stay; a denial is counted and logged. */
  boolean keeps(TopicFilter filter, QoS qos) {
    if (takes(filter, qos)) return true;
    denied(Denials.Kind.SUBSCRIPTION, filter.text());
    return false;
  }

  /** Notes that messages may wait for the client that came by a subscription which has ended. */
  void checkAll() {
    whole = false;
  }

  private boolean takes(TopicFilter filter, QoS qos) {
    Coverage coverage = verdicts.subscription(policy(), filter, qos);
    if (coverage == Coverage.NONE) return false;
    whole &= coverage == Coverage.ALL;
    if (filter.shared() && !groups.contains(filter.group())) groups.add(filter.group());
    return true;
  }

  private void denied(Denials.Kind kind, String topic) {
    denials.denied(kind, client.clientId(), client.user(), topic);
  }
}
