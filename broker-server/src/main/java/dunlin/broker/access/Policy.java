package dunlin.broker.access;

import dunlin.broker.access.RuleTrie.Placed;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one client may do. The first rule that matches decides; what no rule matches is denied.
 *
 * <p>A subscription needs two things of each message: the client may subscribe to its topic, and may receive it.
 */
public final class Policy {
  /*
   * Immutable. Two policies are equal when the same rules with the same values of placeholders make them up, so clients
   * without placeholders in their rules share cached verdicts.
   */
  private final List<RuleTrie> rules;
  private final Map<String, String> values;
  private final int ownLevels;
  private final int hash;

  /**
   * @param rules whose places are those of one source
   * @param values of the placeholders that they have
   * @param ownLevels levels of the patterns of rules that no other policy has
   */
  Policy(List<RuleTrie> rules, Map<String, String> values, int ownLevels) {
    this.rules = List.copyOf(rules);
    this.values = Map.copyOf(values);
    this.ownLevels = ownLevels;
    int identity = 0;
    for (RuleTrie each : rules) identity = 31 * identity + System.identityHashCode(each);
    this.hash = 31 * identity + values.hashCode();
  }

  /** A policy of these rules, in their order. */
  public static Policy of(Subject subject, List<AccessRule> rules) {
    RuleTrie trie = new RuleTrie();
    for (int i = 0; i < rules.size(); i++) trie.add(i, rules.get(i));
    return new Policy(List.of(trie), values(subject, rules), 0);
  }

  /** What the placeholders of some rules stand for. */
  static Map<String, String> values(Subject subject, Iterable<AccessRule> rules) {
    Map<String, String> values = new HashMap<>();
    for (AccessRule rule : rules) {
      for (TopicPattern.Level level : rule.topics().levels()) {
        if (level instanceof TopicPattern.Level.Placeholder(var name)) put(values, subject, name);
      }
    }
    return values;
  }

  static void put(Map<String, String> values, Subject subject, String placeholder) {
    if (!subject.connected() && Subject.isAttribute(placeholder)) values.put(placeholder, Question.UNKNOWN);
    else subject.level(placeholder).ifPresent(value -> values.put(placeholder, value));
  }

  /** Whether an action on one topic name is allowed, and by which rule. */
  public Decision decide(Access asked) {
    Placed first = new Question(asked, values).ofTopic(rules);
    return first == null ? new Decision(false, null) : new Decision(first.rule().allows(), first.rule());
  }

  /** The first rule that matches a topic filter as a whole; of a subscription or of what it brings. */
  public Decision decideFilter(Access asked) {
    Placed first = new Question(asked, values).ofFilter(rules);
    return first == null ? new Decision(false, null) : new Decision(first.rule().allows(), first.rule());
  }

  /** How much of a topic filter is allowed, for one action; of a subscription or of what it brings. */
  public Coverage coverage(Access asked) {
    Placed first = new Question(asked, values).ofFilter(rules);
    if (first == null || !first.rule().allows()) return Coverage.NONE;
    return denialIn(asked, first) == null ? Coverage.ALL : Coverage.PART;
  }

  /** The rule that denies a part of a filter, although a later one allows it as a whole; null if there is none. */
  public @Nullable AccessRule denialIn(Access asked) {
    Placed first = new Question(asked, values).ofFilter(rules);
    Placed denial = first == null || !first.rule().allows() ? null : denialIn(asked, first);
    return denial == null ? null : denial.rule();
  }

  private @Nullable Placed denialIn(Access asked, Placed allowed) {
    return new Question(asked, values).denialIn(rules, allowed.place());
  }

  /** The levels of the patterns of rules that no other policy has, for the memory that it keeps. */
  int ownLevels() {
    return ownLevels;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (this == other) return true;
    if (!(other instanceof Policy policy) || hash != policy.hash || rules.size() != policy.rules.size()) return false;
    for (int i = 0; i < rules.size(); i++) if (rules.get(i) != policy.rules.get(i)) return false;
    return values.equals(policy.values);
  }

  @Override
  public int hashCode() {
    return hash;
  }
}
