package dunlin.load.client;

import java.util.List;

/** Disconnects and reconnects clients in turn at a given rate. */
final class ChurnTask implements Task {
  /* Owner: the event loop. */
  private final List<LoadClient> clients;
  private final Pace pace;
  private final int all;
  private final long startNanos;
  private final long lastingNanos;

  private long next;
  private boolean stopped;

  ChurnTask(List<LoadClient> clients, Pace pace, int all, long startNanos, long lastingNanos) {
    this.clients = clients;
    this.pace = pace;
    this.all = all;
    this.startNanos = startNanos;
    this.lastingNanos = lastingNanos;
  }

  @Override
  public boolean advance(long nowNanos) {
    while (!stopped && !clients.isEmpty()) {
      LoadClient client = clients.get((int) (next % clients.size()));
      long at = pace.nanos(next / clients.size() * all + client.number());
      if (at >= lastingNanos) break;
      if (at > nowNanos - startNanos) return false;
      next++;
      if (client.isReady()) client.disconnect(false);
      if (client.isIdle()) client.connect(startNanos + at, null);
    }
    return true;
  }

  @Override
  public void stop() {
    stopped = true;
  }
}
