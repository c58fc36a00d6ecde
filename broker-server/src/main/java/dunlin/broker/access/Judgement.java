package dunlin.broker.access;

import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * What a policy says of one thing that a client wants to do, for people.
 *
 * @param reason which rule decides
 * @param remarks on a subscription: what it does not bring, or why it is denied all the same
 */
public record Judgement(boolean allowed, String reason, List<String> remarks) {
  public Judgement {
    remarks = List.copyOf(remarks);
  }

  /**
   * Judges by a policy.
   *
   * @param topic a topic name, or to subscribe a topic filter
   * @param shown how rules are shown
   * @throws IllegalArgumentException if the topic is not valid
   */
  public static Judgement of(Policy policy, AccessAction action, String topic, QoS qos, boolean retain, Function<AccessRule, String> shown) {
    return switch (action) {
      case PUBLISH -> of(policy.decide(Access.publish(topicName(topic), qos, retain)), shown);
      case RECEIVE -> of(policy.decide(Access.receive(topicName(topic), qos, retain)), shown);
      case SUBSCRIBE -> subscribe(policy, topic, qos, shown);
    };
  }

  private static Judgement of(Decision decision, Function<AccessRule, String> shown) {
    AccessRule rule = decision.rule();
    String by = rule == null ? "default: no rule matches" : shown.apply(rule);
    return new Judgement(decision.allowed(), (decision.allowed() ? "allowed by " : "denied by ") + by, List.of());
  }

  private static String topicName(String topic) {
    if (topic.isEmpty() || topic.indexOf('+') >= 0 || topic.indexOf('#') >= 0) throw new IllegalArgumentException("not a topic name: " + topic);
    return topic;
  }

  private static Judgement subscribe(Policy policy, String topic, QoS qos, Function<AccessRule, String> shown) {
    TopicFilter filter = TopicFilter.parse(topic).orElseThrow(() -> new IllegalArgumentException("not a topic filter: " + topic));
    Access subscribe = Access.subscribe(filter.filter(), qos, filter.group());
    Access receive = Access.receive(filter.filter(), qos, false);
    Judgement first = of(policy.decideFilter(subscribe), shown);
    if (!first.allowed) return first;
    Coverage coverage = new Verdicts().subscription(policy, filter, qos);
    List<String> remarks = new ArrayList<>();
    if (coverage == Coverage.NONE) {
      remarks.add("denied all the same: a shared subscription must be allowed as a whole, with all that it brings");
    } else if (coverage == Coverage.PART) {
      remarks.add("each message is checked, because the client may not have all that this filter matches");
    }
    AccessRule denial = policy.denialIn(subscribe);
    if (denial == null) denial = policy.denialIn(receive);
    if (denial != null) remarks.add("not all of it, by " + shown.apply(denial));
    else if (!policy.decideFilter(receive).allowed()) remarks.add("no rule allows it to receive all of it");
    return new Judgement(coverage != Coverage.NONE, first.reason, remarks);
  }
}
