package dunlin.admin.peers;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How far a trace has been read on each node.
 *
 * @param next by node, the number of the line to be read next; 0 for a node that is not there
 */
record TracePosition(Map<String, Long> next) {
  private static final Pattern OF_NODE = Pattern.compile("([0-9a-f-]{1,64})=([0-9]{1,18})");

  TracePosition {
    next = Map.copyOf(next);
  }

  /** @throws IllegalArgumentException when it is not what {@link #text} has made */
  static TracePosition of(String text) {
    Map<String, Long> next = new HashMap<>();
    for (String each : text.isEmpty() ? new String[0] : text.split(",", -1)) {
      var of = OF_NODE.matcher(each);
      if (!of.matches()) throw new IllegalArgumentException("the position is none that a part of a trace has given");
      next.put(of.group(1), Long.parseLong(of.group(2)));
    }
    return new TracePosition(next);
  }

  long at(String node) {
    return next.getOrDefault(node, 0L);
  }

  String text() {
    return next.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue()).collect(Collectors.joining(","));
  }
}
