package dunlin.broker.loop;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Has those whose packets one event loop processes take turns: tenants, and connections while there is one tenant. What has used up its turn is not read from until the loop has
 * served its sockets once more.
 */
public final class Turns {
  /*
   * A tenant that has used more than a turn, because one packet was dear, waits for as many rounds as it has used turns. Rounds of a loop with nothing else to do take microseconds, so
   * that costs time only where others need it.
   *
   * Owner: the event loop.
   * Bounds: an entry for each tenant with connections, and those of its connections that wait, each once. RESUMED of a tenant go on in a round; those that find its turn used
   * up by the first of them wait again.
   * Failure: none.
   */
  static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  static final int RESUMED = 16;

  private final Consumer<Runnable> afterSockets;
  private final Map<String, Turn> tenants = new HashMap<>();
  private final ArrayDeque<Turn> waiting = new ArrayDeque<>();
  private final Runnable nextRound = this::nextRound;
  private boolean roundDue;
  private long round;

  /** A connection that waits for its turn. */
  @FunctionalInterface
  public interface Waiter {
    void goOnWithTurn();
  }

  /** @param afterSockets runs a task after the loop has served its sockets once more */
  public Turns(Consumer<Runnable> afterSockets) {
    this.afterSockets = afterSockets;
  }

  /** The turns of a tenant, for one more connection, which must leave it. */
  public Turn join(String tenant) {
    Turn turn = tenants.computeIfAbsent(tenant, Turn::new);
    turn.connections++;
    return turn;
  }

  /** The turns of one tenant. */
  public final class Turn {
    private final String tenant;
    private final ArrayDeque<Waiter> line = new ArrayDeque<>();
    private int connections;
    private long used;
    private long usedIn;

    /** Whether it is among those that wait. */
    private boolean waits;

    private Turn(String tenant) {
      this.tenant = tenant;
    }

    /** Whether other tenants have connections at this loop; then all work must be counted by {@link #use}. */
    public boolean isShared() {
      return tenants.size() > 1;
    }

    /**
     * Whether its turn is over.
     *
     * @param more nanoseconds that are not counted yet
     */
    public boolean isOver(long more) {
      return used() + more >= TURN_NANOS;
    }

    private long used() {
      long passed = round - usedIn;
      usedIn = round;
      used = passed > used / TURN_NANOS ? 0 : used - passed * TURN_NANOS;
      return used;
    }

    /** Counts work. */
    public void use(long nanos) {
      used = used() + nanos;
      endRoundSoon();
    }

    /** Lets a connection wait for a turn; it is notified once. */
    public void await(Waiter connection) {
      line.add(connection);
      if (!waits) waiting.add(this);
      waits = true;
      endRoundSoon();
    }

    private void goOn() {
      if (!isOver(0)) for (int left = Math.min(RESUMED, line.size()); left > 0; left--) line.remove().goOnWithTurn();
      waits = !line.isEmpty();
      if (waits) waiting.add(this);
    }

    /** A connection has ended. */
    public void leave() {
      connections--;
      assert connections >= 0 : "more connections left than joined: " + tenant;
      if (connections == 0) tenants.remove(tenant, this);
    }
  }

  private void endRoundSoon() {
    if (roundDue) return;
    roundDue = true;
    afterSockets.accept(nextRound);
  }

  private void nextRound() {
    roundDue = false;
    round++;
    for (int left = waiting.size(); left > 0; left--) waiting.remove().goOn();
    if (!waiting.isEmpty()) endRoundSoon();
  }
}
