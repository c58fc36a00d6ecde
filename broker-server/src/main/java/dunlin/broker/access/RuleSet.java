package dunlin.broker.access;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** All rules of one source with whom they are about, and the groups of users; makes the policy of a client. */
public final class RuleSet {
  /*
   * Owner: the thread that builds it, until it is handed out; it does not change any more after that.
   * Bounds: those of its source. A policy has only the values of its placeholders, and the rules of its client, whose source bounds them.
   */
  /** Whom a rule is about. */
  sealed interface Who {
    /** Every client. */
    record Everyone() implements Who {}

    /** Clients without a user name. */
    record Anonymous() implements Who {}

    record User(String name) implements Who {}

    /** The members of a group. */
    record Group(String name) implements Who {}
  }

  /** The rules about some clients, and the placeholders in them. */
  private static final class Section {
    final RuleTrie rules = new RuleTrie();
    final Set<String> placeholders = new HashSet<>(1);
  }

  private final Section everyone = new Section();
  private final Section anonymous = new Section();
  private final Map<String, Section> users = new HashMap<>();
  private final Map<String, Section> groups = new HashMap<>();

  /** The groups of each user. */
  private final Map<String, List<String>> memberships = new HashMap<>();

  private int size;

  /** No rules. */
  public RuleSet() {}

  void addMember(String group, String user) {
    List<String> all = memberships.computeIfAbsent(user, _ -> new ArrayList<>(1));
    if (!all.contains(group)) all.add(group);
  }

  /** Adds a rule behind all others. */
  void add(Who who, AccessRule rule) {
    Section section =
        switch (who) {
          case Who.Everyone _ -> everyone;
          case Who.Anonymous _ -> anonymous;
          case Who.User(var name) -> users.computeIfAbsent(name, _ -> new Section());
          case Who.Group(var name) -> groups.computeIfAbsent(name, _ -> new Section());
        };
    section.rules.add(size++, rule);
    for (TopicPattern.Level level : rule.topics().levels()) {
      if (level instanceof TopicPattern.Level.Placeholder(var name)) section.placeholders.add(name);
    }
  }

  /** The number of rules. */
  public int size() {
    return size;
  }

  /** The policy of a client. */
  public Policy policyOf(Subject subject) {
    return policyOf(subject, List.of());
  }

  /**
   * The policy of a client that has rules of its own.
   *
   * @param own they stand behind all others
   */
  public Policy policyOf(Subject subject, List<AccessRule> own) {
    List<RuleTrie> tries = new ArrayList<>(4);
    Map<String, String> values = new HashMap<>(4);
    include(everyone, subject, tries, values);
    if (subject.user().isEmpty()) {
      include(anonymous, subject, tries, values);
    } else {
      Section named = users.get(subject.user());
      if (named != null) include(named, subject, tries, values);
      for (String group : memberships.getOrDefault(subject.user(), List.of())) {
        Section section = groups.get(group);
        if (section != null) include(section, subject, tries, values);
      }
    }
    if (own.isEmpty()) return new Policy(tries, values, 0);
    RuleTrie trie = new RuleTrie();
    int place = size;
    int levels = 0;
    for (AccessRule rule : own) {
      trie.add(place++, rule);
      levels += rule.topics().levels().size();
    }
    tries.add(trie);
    values.putAll(Policy.values(subject, own));
    return new Policy(tries, values, levels);
  }

  private static void include(Section section, Subject subject, List<RuleTrie> tries, Map<String, String> values) {
    tries.add(section.rules);
    for (String placeholder : section.placeholders) Policy.put(values, subject, placeholder);
  }
}
