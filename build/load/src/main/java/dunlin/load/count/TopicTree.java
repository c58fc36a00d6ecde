package dunlin.load.count;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Finds the entries whose topic filters match a topic name; section 4.7 of the specifications. */
public final class TopicTree<T> {
  /* Owner: one thread at a time. Bounds: as many entries as a scenario has subscriptions. */
  private final Node<T> root = new Node<>();

  private static final class Node<T> {
    @Nullable Map<String, Node<T>> levels;
    @Nullable List<T> ending;

    Node<T> child(String level) {
      if (levels == null) levels = new HashMap<>(2);
      return levels.computeIfAbsent(level, _ -> new Node<>());
    }
  }

  public void add(String filter, T value) {
    Node<T> node = root;
    for (String level : filter.split("/", -1)) node = node.child(level);
    if (node.ending == null) node.ending = new ArrayList<>(1);
    node.ending.add(value);
  }

  /** Hands over each matching entry; one with two matching filters is handed over twice. */
  public void match(String topic, Consumer<T> found) {
    String[] levels = topic.split("/", -1);
    match(root, levels, 0, found, topic.startsWith("$"));
  }

  private void match(Node<T> node, String[] levels, int depth, Consumer<T> found, boolean noWildcard) {
    Map<String, Node<T>> children = node.levels;
    if (children != null && !noWildcard) {
      Node<T> rest = children.get("#");
      if (rest != null) end(rest, found);
    }
    if (depth == levels.length) {
      end(node, found);
      return;
    }
    if (children == null) return;
    Node<T> same = children.get(levels[depth]);
    if (same != null) match(same, levels, depth + 1, found, false);
    Node<T> any = noWildcard ? null : children.get("+");
    if (any != null) match(any, levels, depth + 1, found, false);
  }

  private void end(Node<T> node, Consumer<T> found) {
    if (node.ending != null) node.ending.forEach(found);
  }
}
