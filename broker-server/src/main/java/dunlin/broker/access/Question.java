package dunlin.broker.access;

import dunlin.broker.access.RuleTrie.Node;
import dunlin.broker.access.RuleTrie.Placed;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One question to the rules of a policy: which rule comes first. */
final class Question {
  /*
   * Owner: the caller; made for one question.
   * For topics that begin with $, the first level follows the rule of wildcards (MQTT 5, section 4.7.2): neither a
   * wildcard nor a placeholder stands for such a level.
   */
  /** The value of an attribute that is not known; no value of a client is equal to it. */
  static final String UNKNOWN = "#";

  private final Access asked;
  private final String topic;
  private final Map<String, String> values;
  private final boolean reserved;

  private @Nullable Placed found;

  /** Only rules that stand before this place are looked for. */
  private int before = Integer.MAX_VALUE;

  /** Whether only rules that allow count, which is so below the value of an attribute that is not known. */
  private boolean onlyAllows;

  /** @param values what placeholders stand for, each for one level */
  Question(Access asked, Map<String, String> values) {
    this.asked = asked;
    this.topic = asked.topic().equals("+/#") ? "#" : asked.topic(); // both match the same topics
    this.values = values;
    this.reserved = topic.startsWith("$");
  }

  /** The first rule that matches the topic name; null if there is none. */
  @Nullable Placed ofTopic(List<RuleTrie> rules) {
    for (RuleTrie each : rules) topic(each.root, 0);
    return found;
  }

  /** The first rule that matches every topic of the filter, and every message there; null if there is none. */
  @Nullable Placed ofFilter(List<RuleTrie> rules) {
    for (RuleTrie each : rules) filter(each.root, 0);
    return found;
  }

  /** The first rule before a place that denies some of the filter's messages; null if there is none. */
  @Nullable Placed denialIn(List<RuleTrie> rules, int place) {
    before = place;
    for (RuleTrie each : rules) denial(each.root, 0);
    return found;
  }

  private int end(int from) {
    int slash = topic.indexOf('/', from);
    return slash < 0 ? topic.length() : slash;
  }

  private boolean isOver(int from) {
    return from > topic.length();
  }

  private boolean wildcardsMatch(int from) {
    return from > 0 || !reserved;
  }

  private void topic(Node node, int from) {
    if (node.first >= before) return;
    if (wildcardsMatch(from)) take(node.rest, false);
    if (isOver(from)) {
      take(node.here, false);
      return;
    }
    int end = end(from);
    String level = topic.substring(from, end);
    Node literal = node.literals.get(level);
    if (literal != null) topic(literal, end + 1);
    if (!wildcardsMatch(from)) return;
    if (node.one != null) topic(node.one, end + 1);
    for (var each : node.placeholders.entrySet()) {
      String value = values.get(each.getKey());
      if (level.equals(value)) topic(each.getValue(), end + 1);
      else if (UNKNOWN.equals(value)) topicBelowUnknown(each.getValue(), end + 1);
    }
  }

  private void topicBelowUnknown(Node node, int from) {
    boolean outside = onlyAllows;
    onlyAllows = true;
    topic(node, from);
    onlyAllows = outside;
  }

  private void filter(Node node, int from) {
    if (node.first >= before) return;
    if (wildcardsMatch(from)) take(node.rest, true);
    if (isOver(from)) {
      take(node.here, true);
      return;
    }
    int end = end(from);
    String level = topic.substring(from, end);
    if (level.equals("#")) return; // only another # matches as much
    if (!level.equals("+")) {
      Node literal = node.literals.get(level);
      if (literal != null) filter(literal, end + 1);
    }
    if (!wildcardsMatch(from)) return;
    if (node.one != null) filter(node.one, end + 1);
    for (var each : node.placeholders.entrySet()) {
      if (level.equals(values.get(each.getKey()))) filter(each.getValue(), end + 1);
    }
  }

  private void denial(Node node, int from) {
    if (node.firstDeny >= before) return;
    if (wildcardsMatch(from)) takeDenial(node.rest);
    if (isOver(from)) {
      takeDenial(node.here);
      return;
    }
    int end = end(from);
    String level = topic.substring(from, end);
    if (level.equals("#")) {
      denialBelow(node, from == 0);
      return;
    }
    boolean any = level.equals("+");
    if (any) {
      for (var each : node.literals.entrySet()) if (from > 0 || !each.getKey().startsWith("$")) denial(each.getValue(), end + 1);
    } else {
      Node literal = node.literals.get(level);
      if (literal != null) denial(literal, end + 1);
    }
    if (!wildcardsMatch(from)) return;
    if (node.one != null) denial(node.one, end + 1);
    for (var each : node.placeholders.entrySet()) {
      String value = values.get(each.getKey());
      if (value != null && (any ? from > 0 || !value.startsWith("$") : level.equals(value))) denial(each.getValue(), end + 1);
    }
  }

  private void denialBelow(Node node, boolean atFirstLevel) {
    if (node.firstDeny >= before) return;
    takeDenial(node.here);
    takeDenial(node.rest);
    for (var each : node.literals.entrySet()) if (!atFirstLevel || !each.getKey().startsWith("$")) denialBelow(each.getValue(), false);
    if (node.one != null) denialBelow(node.one, false);
    for (var each : node.placeholders.entrySet()) {
      String value = values.get(each.getKey());
      if (value != null && !(atFirstLevel && value.startsWith("$"))) denialBelow(each.getValue(), false);
    }
  }

  private void take(List<Placed> rules, boolean whole) {
    for (Placed each : rules) {
      if (each.place() >= before) return;
      if (onlyAllows && !each.rule().allows()) continue;
      if (whole ? each.rule().isAboutAllOf(asked) : each.rule().isAbout(asked)) {
        take(each);
        return;
      }
    }
  }

  private void takeDenial(List<Placed> rules) {
    for (Placed each : rules) {
      if (each.place() >= before) return;
      if (!each.rule().allows() && each.rule().isAboutSomeOf(asked)) {
        take(each);
        return;
      }
    }
  }

  private void take(Placed rule) {
    found = rule;
    before = rule.place();
  }
}
