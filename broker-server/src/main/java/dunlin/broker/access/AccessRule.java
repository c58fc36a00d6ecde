package dunlin.broker.access;

import dunlin.model.QoS;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One rule of a policy: allows or denies actions on topics.
 *
 * @param source where it stands, for people: {@code FILE:LINE}
 * @param actions at least one
 * @param qosMax the rule is about messages of this QoS and below, and about subscriptions that ask for no more
 * @param retain the rule is about messages with, or without, the RETAIN flag; null for both
 * @param share the rule is about subscriptions of this group; {@link #ANY_GROUP} for all shared ones, {@link #NO_GROUP}
 *     for those that are not shared, null for both
 */
public record AccessRule(
    String source, boolean allows, Set<AccessAction> actions, TopicPattern topics, QoS qosMax, @Nullable Boolean retain, @Nullable String share) {
  /** All shared subscriptions. */
  public static final String ANY_GROUP = "*";

  /** Subscriptions that are not shared. */
  public static final String NO_GROUP = "";

  public AccessRule {
    if (actions.isEmpty()) throw new IllegalArgumentException("a rule about nothing: " + source);
    actions = Set.copyOf(EnumSet.copyOf(actions));
    Objects.requireNonNull(topics);
  }

  /** A rule without conditions. */
  public static AccessRule of(boolean allows, Set<AccessAction> actions, String topics) {
    return new AccessRule("the application", allows, actions, TopicPattern.of(topics), QoS.EXACTLY_ONCE, null, null);
  }

  /** Whether all but its topics is as in the question. */
  boolean isAbout(Access asked) {
    if (!actions.contains(asked.action()) || asked.qos().code() > qosMax.code()) return false;
    if (asked.action() == AccessAction.SUBSCRIBE) return hasGroup(asked.group());
    return retain == null || retain == asked.retain();
  }

  /** Whether it is about every message that a subscription with this QoS brings, or about the subscription itself. */
  boolean isAboutAllOf(Access asked) {
    return isAbout(asked) && (asked.action() == AccessAction.SUBSCRIBE || retain == null);
  }

  /** Whether it is about at least some of these messages. */
  boolean isAboutSomeOf(Access asked) {
    return actions.contains(asked.action()) && (asked.action() != AccessAction.SUBSCRIBE || hasGroup(asked.group()));
  }

  private boolean hasGroup(String group) {
    if (share == null) return true;
    return share.equals(ANY_GROUP) ? !group.isEmpty() : share.equals(group);
  }
}
