package dunlin.broker.access;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.Function;

/** The rules of roles, in the order of the roles' names, and the roles that users have. They stand behind the rules of a file. */
public final class RoleRules {
  /*
   * Owner: none; it does not change.
   * Bounds: those of its source.
   */
  /** Behind all rules of a file. */
  private static final int FIRST_PLACE = 1 << 20;

  private static final RoleRules NONE = new RoleRules(Map.of(), FIRST_PLACE, _ -> List.of());

  private final Map<String, RuleSection> sections;
  private final int end;
  private final Function<String, List<String>> rolesOf;

  private RoleRules(Map<String, RuleSection> sections, int end, Function<String, List<String>> rolesOf) {
    this.sections = sections;
    this.end = end;
    this.rolesOf = rolesOf;
  }

  public static RoleRules none() {
    return NONE;
  }

  /**
   * Rules by the names of their roles.
   *
   * @param rolesOf the roles of a user; any thread calls it
   */
  public static RoleRules of(SortedMap<String, List<AccessRule>> roles, Function<String, List<String>> rolesOf) {
    Map<String, RuleSection> sections = HashMap.newHashMap(roles.size());
    int place = FIRST_PLACE;
    for (Map.Entry<String, List<AccessRule>> role : roles.entrySet()) {
      RuleSection section = new RuleSection();
      for (AccessRule rule : role.getValue()) section.add(place++, rule);
      sections.put(role.getKey(), section);
    }
    return new RoleRules(sections, place, rolesOf);
  }

  /** The same rules, for users who have other roles now. What was decided by these rules stays remembered. */
  public RoleRules of(Function<String, List<String>> otherRolesOf) {
    return new RoleRules(sections, end, otherRolesOf);
  }

  /** The rules of the roles of a user. */
  List<RuleSection> of(String user) {
    List<RuleSection> own = new ArrayList<>(2);
    for (String role : rolesOf.apply(user)) {
      RuleSection section = sections.get(role);
      if (section != null) own.add(section);
    }
    return own;
  }

  /** The place behind all of its rules. */
  int end() {
    return end;
  }
}
