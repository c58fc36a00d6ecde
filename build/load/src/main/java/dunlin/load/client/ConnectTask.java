package dunlin.load.client;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Connects clients one by one, at a rate or as fast as the broker answers, and waits for all answers. */
final class ConnectTask implements Task, Settled {
  /*
   * Owner: the event loop. Bounds: UNDER_WAY_MAX connects at the same time. Full: the next one waits; its time counts
   * from when it was due.
   */
  private static final int UNDER_WAY_MAX = 4_096;

  private final List<LoadClient> clients;
  private final @Nullable Pace pace;
  private final long startNanos;

  private int next;
  private int underWay;
  private boolean stopped;

  /** @param pace null for no limit */
  ConnectTask(List<LoadClient> clients, @Nullable Pace pace, long startNanos) {
    this.clients = clients;
    this.pace = pace;
    this.startNanos = startNanos;
  }

  @Override
  public boolean advance(long nowNanos) {
    while (!stopped && next < clients.size() && underWay < UNDER_WAY_MAX) {
      LoadClient client = clients.get(next);
      long at = pace == null ? 0 : pace.nanos(client.number());
      if (at > nowNanos - startNanos) break;
      next++;
      if (!client.isIdle()) continue;
      underWay++;
      client.connect(startNanos + at, this);
    }
    return (stopped || next == clients.size()) && underWay == 0;
  }

  @Override
  public void settled() {
    underWay--;
  }

  @Override
  public void stop() {
    stopped = true;
  }
}
