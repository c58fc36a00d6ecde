package dunlin.load.plan;

import dunlin.load.count.TopicTree;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/** Finds the receivers of a topic by the subscriptions of a plan. */
public final class Audience {
  /* Owner: built before a run, read-only afterwards. Bounds: the plan's clients times their subscriptions. */
  private final TopicTree<Integer> tree = new TopicTree<>();
  private final List<Receiver> receivers = new ArrayList<>();
  private final Map<String, Integer> groups = new HashMap<>();

  /** A receiver whose messages are counted: a client, or a shared group as a whole. */
  public sealed interface Receiver {
    int qos();

    record Alone(int pool, int client, int qos) implements Receiver {}

    record Group(String filter, int pool, int qos) implements Receiver {}
  }

  public Audience(Plan plan) {
    for (int p = 0; p < plan.pools().size(); p++) {
      Pool pool = plan.pools().get(p);
      if (pool.subscriptions().isEmpty()) continue;
      for (int client = 0; client < pool.clients(); client++) enter(p, pool, client);
    }
  }

  private void enter(int p, Pool pool, int client) {
    Who who = pool.who(client);
    Subscribing first = pool.subscriptions().getFirst();
    if (first.isShared()) {
      String filter = first.filter().fill(who);
      Integer known = groups.get(filter);
      if (known != null) return;
      groups.put(filter, receivers.size());
      tree.add(Subscribing.filterOfShared(filter), receivers.size());
      receivers.add(new Receiver.Group(filter, p, first.qos()));
      return;
    }
    int highest = pool.subscriptions().stream().mapToInt(Subscribing::qos).max().orElse(0);
    for (int s = 0; s < pool.subscriptions().size(); s++) tree.add(pool.filter(s, who), receivers.size());
    receivers.add(new Receiver.Alone(p, client, highest));
  }

  /** Hands over each receiver of a topic exactly once. */
  public void of(String topic, IntConsumer receiver) {
    var found = new ArrayList<Integer>();
    tree.match(topic, found::add);
    found.stream().distinct().forEach(receiver::accept);
  }

  public int count(String topic) {
    int[] count = {0};
    of(topic, _ -> count[0]++);
    return count[0];
  }

  public Receiver receiver(int number) {
    return receivers.get(number);
  }

  /** The highest QoS that the members of a shared group have asked for. */
  public int qosOfGroup(String filter) {
    Integer number = groups.get(filter);
    if (number == null) throw new IllegalArgumentException("there is no group " + filter);
    return receivers.get(number).qos();
  }

  /** The filters of all shared groups. */
  public List<String> groups() {
    return List.copyOf(groups.keySet());
  }

  public boolean isEmpty() {
    return receivers.isEmpty();
  }
}
