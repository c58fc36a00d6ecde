package dunlin.broker.access;

import java.util.HashSet;
import java.util.Set;

/** The rules about some clients, and the placeholders in them. */
final class RuleSection {
  /*
   * Owner: the thread that builds it, until it is handed out.
   */
  private final RuleTrie rules = new RuleTrie();
  private final Set<String> placeholders = new HashSet<>(1);

  /** Adds a rule; places ascend. */
  void add(int place, AccessRule rule) {
    rules.add(place, rule);
    for (TopicPattern.Level level : rule.topics().levels()) {
      if (level instanceof TopicPattern.Level.Placeholder(var name)) placeholders.add(name);
    }
  }

  RuleTrie rules() {
    return rules;
  }

  Set<String> placeholders() {
    return placeholders;
  }
}
