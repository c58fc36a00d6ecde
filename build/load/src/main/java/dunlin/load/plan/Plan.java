package dunlin.load.plan;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;

/**
 * A whole run.
 *
 * @param loops the number of event loops; 0 for one per processor
 * @param connectTimeout the timeout for CONNACK and SUBACK
 * @param ackTimeout the timeout for a publish's acknowledgement
 */
public record Plan(String name, List<Pool> pools, List<Step> steps, List<Expectation> expectations, int loops, Duration connectTimeout, Duration ackTimeout) {
  public static final int POOLS_MAX = 1_000;
  public static final int STEPS_MAX = 10_000;

  public Plan {
    pools = List.copyOf(pools);
    steps = List.copyOf(steps);
    expectations = List.copyOf(expectations);
    if (pools.isEmpty()) throw new IllegalArgumentException("there are no clients");
    if (pools.size() > POOLS_MAX) throw new IllegalArgumentException("there are more than %,d pools".formatted(POOLS_MAX));
    if (steps.size() > STEPS_MAX) throw new IllegalArgumentException("there are more than %,d phases".formatted(STEPS_MAX));
    var names = new HashSet<String>();
    for (Pool pool : pools) if (!names.add(pool.name())) throw new IllegalArgumentException("two pools are called " + pool.name());
  }

  public int poolIndex(String name) {
    for (int i = 0; i < pools.size(); i++) if (pools.get(i).name().equals(name)) return i;
    throw new IllegalArgumentException("there is no pool " + name);
  }

  public Pool pool(String name) {
    return pools.get(poolIndex(name));
  }

  /** The same plan with other source addresses. */
  public Plan from(List<String> sources) {
    return new Plan(name, pools.stream().map(pool -> pool.from(sources)).toList(), steps, expectations, loops, connectTimeout, ackTimeout);
  }

  /** The number of clients of all pools. */
  public long clients() {
    return pools.stream().mapToLong(Pool::clients).sum();
  }
}
