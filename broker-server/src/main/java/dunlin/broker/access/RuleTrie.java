package dunlin.broker.access;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rules by the levels of their patterns, so that a question looks only at rules whose topics begin as it does. */
final class RuleTrie {
  /*
   * Owner: the thread that makes it, until it is handed out; it does not change any more after that.
   * Bounds: a node for each level of each pattern. A question visits a node at most once, and none whose rules all stand
   * behind the rule that was found already.
   */
  /** A rule and its place among all rules of its source. */
  record Placed(int place, AccessRule rule) {}

  /** All rules whose patterns have the same first levels. */
  static final class Node {
    final Map<String, Node> literals = new HashMap<>(2);
    final Map<String, Node> placeholders = new HashMap<>(1);
    @Nullable Node one;

    /** Rules whose patterns end here, and rules whose patterns continue with {@code #}; each in the order of places. */
    final List<Placed> here = new ArrayList<>(1);

    final List<Placed> rest = new ArrayList<>(1);

    /** The first place of any rule here or below, and of any that denies. */
    int first = Integer.MAX_VALUE;

    int firstDeny = Integer.MAX_VALUE;
  }

  final Node root = new Node();

  /** Adds a rule; places ascend. */
  void add(int place, AccessRule rule) {
    Node node = root;
    note(node, place, rule);
    for (TopicPattern.Level level : rule.topics().levels()) {
      switch (level) {
        case TopicPattern.Level.Rest _ -> {
          node.rest.add(new Placed(place, rule));
          return;
        }
        case TopicPattern.Level.One _ -> {
          if (node.one == null) node.one = new Node();
          node = node.one;
        }
        case TopicPattern.Level.Literal(var text) -> node = node.literals.computeIfAbsent(text, _ -> new Node());
        case TopicPattern.Level.Placeholder(var name) -> node = node.placeholders.computeIfAbsent(name, _ -> new Node());
      }
      note(node, place, rule);
    }
    node.here.add(new Placed(place, rule));
  }

  private static void note(Node node, int place, AccessRule rule) {
    node.first = Math.min(node.first, place);
    if (!rule.allows()) node.firstDeny = Math.min(node.firstDeny, place);
  }
}
