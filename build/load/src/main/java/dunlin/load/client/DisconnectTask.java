package dunlin.load.client;

import java.util.List;

/** Ends the connections of clients, some per tick. */
final class DisconnectTask implements Task {
  /* Owner: the event loop. */
  private static final int OF_A_TICK_MAX = 500;

  private final List<LoadClient> clients;
  private final boolean abrupt;

  private int next;

  DisconnectTask(List<LoadClient> clients, boolean abrupt) {
    this.clients = clients;
    this.abrupt = abrupt;
  }

  @Override
  public boolean advance(long nowNanos) {
    for (int i = 0; i < OF_A_TICK_MAX && next < clients.size(); i++) clients.get(next++).disconnect(abrupt);
    return next == clients.size();
  }
}
