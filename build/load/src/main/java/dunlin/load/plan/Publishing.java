package dunlin.load.plan;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The publishing of each client of a pool to one topic.
 *
 * @param qos used in turn by the clients
 * @param rate of each client; null for a closed loop, which sends when its window has room
 * @param window the number of messages that a client may have in flight in a closed loop
 */
public record Publishing(Template topic, List<Integer> qos, boolean retain, @Nullable Rate rate, int window, Payload payload) {
  public Publishing {
    qos = List.copyOf(qos);
    for (int one : qos) if (one < 0 || one > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, and not " + one);
    if (qos.isEmpty()) throw new IllegalArgumentException("there is no QoS");
    if (window < 1 || window > Pool.INFLIGHT_MAX) throw new IllegalArgumentException("a window is 1 to %,d, and not %,d".formatted(Pool.INFLIGHT_MAX, window));
    String text = topic.toString();
    if (text.isEmpty() || text.contains("#") || text.contains("+")) throw new IllegalArgumentException("\"%s\" is no topic to publish to".formatted(text));
  }

  public int qos(int client) {
    return qos.get(client % qos.size());
  }
}
