package dunlin.broker.connect;

import dunlin.broker.loop.FrontendSettings;
import dunlin.model.ReasonCode;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends the clients of a frontend to another server, at a given number per second, until it is stopped; MQTT 5, section
 * 4.11.
 */
public final class Drain {
  /** The highest number of connections per second. */
  public static final int FASTEST = 1_000_000;

  /*
   * Owner: starts and stops under its caller's lock. A tick starts on loop 0 and continues from loop to loop until its
   * share of clients is disconnected, so that the pace is kept however the clients are spread over the loops.
   * Bounds: a tick holds at most its share of connections, and visits each loop once.
   */
  private static final int TICKS_A_SECOND = 10;

  private final List<LoopConnections> parts;
  private final String serverReference;
  private final int connectionsPerSecond;

  private @Nullable ScheduledFuture<?> ticking;
  private int owed;
  private int nextLoop;

  /** @param parts the connections of all event loops */
  public Drain(List<LoopConnections> parts, String serverReference, int connectionsPerSecond) {
    checkReference(serverReference);
    if (connectionsPerSecond < 1 || connectionsPerSecond > FASTEST) {
      throw new IllegalArgumentException("connections per second must be 1 to " + FASTEST + ", not " + connectionsPerSecond);
    }
    this.parts = parts;
    this.serverReference = serverReference;
    this.connectionsPerSecond = connectionsPerSecond;
  }

  /** The server reference for clients, or empty. */
  public String serverReference() {
    return serverReference;
  }

  private static void checkReference(String reference) {
    int max = FrontendSettings.SERVER_REFERENCE_MAX;
    if (reference.length() > max || reference.chars().anyMatch(Character::isISOControl)) {
      throw new IllegalArgumentException("a server reference has at most " + max + " characters and no control characters");
    }
  }

  public void start() {
    int period = 1_000 / TICKS_A_SECOND;
    ticking = parts.getFirst().loop().executor().scheduleAtFixedRate(this::tick, 0, period, TimeUnit.MILLISECONDS);
  }

  public void stop() {
    if (ticking != null) ticking.cancel(false);
  }

  private void tick() {
    owed += connectionsPerSecond;
    int clients = owed / TICKS_A_SECOND;
    owed -= clients * TICKS_A_SECOND;
    nextLoop = (nextLoop + 1) % parts.size();
    if (clients > 0) sendAway(clients, nextLoop, 0);
  }

  private void sendAway(int clients, int index, int loopsAsked) {
    if (loopsAsked == parts.size()) return;
    LoopConnections part = parts.get(index);
    part.loop().post(
        () -> {
          List<Connection> leaving = part.table().live(clients);
          for (Connection connection : leaving) {
            connection.sendAway(ReasonCode.USE_ANOTHER_SERVER, "the server is being drained", serverReference);
          }
          int left = clients - leaving.size();
          if (left > 0) sendAway(left, (index + 1) % parts.size(), loopsAsked + 1);
        });
  }
}
