package dunlin.chaos.mqtt.check;

/**
 * The drops by rules of D10 that the broker has counted.
 *
 * @param inboxes messages that found an inbox full
 * @param connected messages of QoS 1 and 2 that a queue had no room for, including those from inboxes
 */
public record Drops(long inboxes, long connected) {
  public static final Drops NONE = new Drops(0, 0);

  public Drops plus(Drops more) {
    return new Drops(inboxes + more.inboxes, connected + more.connected);
  }
}
