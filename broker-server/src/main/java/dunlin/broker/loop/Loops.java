package dunlin.broker.loop;

import dunlin.broker.limit.NodeBudget;
import dunlin.broker.meter.FrontendMeters;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** The event loops of one frontend, and what they share: settings, memory, meters, and the other tiers. */
public final class Loops {
  /*
   * Owner: the thread that opens the frontend creates it; afterwards it is immutable, and any thread reads it.
   * Bounds: as many loops as lanes.
   */
  private final FrontendSettings settings;
  private final NodeBudget budget;
  private final FrontendMeters meters;
  private final InstantSource clock;
  private final Tiers tiers;
  private final Loop[] loops;

  /** @param executors the executors, each of which runs one loop */
  public Loops(
      FrontendSettings settings,
      NodeBudget budget,
      FrontendMeters meters,
      InstantSource clock,
      Tiers tiers,
      Iterable<EventExecutor> executors) {
    this.settings = settings;
    this.budget = budget;
    this.meters = meters;
    this.clock = clock;
    this.tiers = tiers;
    List<Loop> made = new ArrayList<>();
    for (EventExecutor executor : executors) made.add(new Loop(this, made.size(), (EventLoop) executor));
    this.loops = made.toArray(new Loop[0]);
  }

  public Loop get(int index) {
    return loops[index];
  }

  public int count() {
    return loops.length;
  }

  FrontendSettings settings() {
    return settings;
  }

  NodeBudget budget() {
    return budget;
  }

  FrontendMeters meters() {
    return meters;
  }

  InstantSource clock() {
    return clock;
  }

  Tiers tiers() {
    return tiers;
  }
}
