package dunlin.broker.access;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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

  private final RuleSection everyone;
  private final RuleSection anonymous;
  private final Map<String, RuleSection> users;
  private final Map<String, RuleSection> groups;

  /** The groups of each user. */
  private final Map<String, List<String>> memberships;

  private final RoleRules roles;
  private int size;

  /** No rules. */
  public RuleSet() {
    everyone = new RuleSection();
    anonymous = new RuleSection();
    users = new HashMap<>();
    groups = new HashMap<>();
    memberships = new HashMap<>();
    roles = RoleRules.none();
  }

  private RuleSet(RuleSet first, RoleRules roles) {
    everyone = first.everyone;
    anonymous = first.anonymous;
    users = first.users;
    groups = first.groups;
    memberships = first.memberships;
    size = first.size;
    this.roles = roles;
  }

  /** These rules, and behind them those of roles, instead of the roles that it has now. No rule may be added any more. */
  public RuleSet with(RoleRules behind) {
    return new RuleSet(this, behind);
  }

  void addMember(String group, String user) {
    List<String> all = memberships.computeIfAbsent(user, _ -> new ArrayList<>(1));
    if (!all.contains(group)) all.add(group);
  }

  /** Adds a rule behind all others. */
  void add(Who who, AccessRule rule) {
    RuleSection section =
        switch (who) {
          case Who.Everyone _ -> everyone;
          case Who.Anonymous _ -> anonymous;
          case Who.User(var name) -> users.computeIfAbsent(name, _ -> new RuleSection());
          case Who.Group(var name) -> groups.computeIfAbsent(name, _ -> new RuleSection());
        };
    section.add(size++, rule);
  }

  /** The number of rules, without those of roles. */
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
      RuleSection named = users.get(subject.user());
      if (named != null) include(named, subject, tries, values);
      for (String group : memberships.getOrDefault(subject.user(), List.of())) {
        RuleSection section = groups.get(group);
        if (section != null) include(section, subject, tries, values);
      }
      for (RuleSection section : roles.of(subject.user())) include(section, subject, tries, values);
    }
    if (own.isEmpty()) return new Policy(tries, values, 0);
    RuleTrie trie = new RuleTrie();
    int place = roles.end();
    int levels = 0;
    for (AccessRule rule : own) {
      trie.add(place++, rule);
      levels += rule.topics().levels().size();
    }
    tries.add(trie);
    values.putAll(Policy.values(subject, own));
    return new Policy(tries, values, levels);
  }

  private static void include(RuleSection section, Subject subject, List<RuleTrie> tries, Map<String, String> values) {
    tries.add(section.rules());
    for (String placeholder : section.placeholders()) Policy.put(values, subject, placeholder);
  }
}
