package dunlin.chaos.mqtt;

/**
 * What the broker says to have left out on purpose by a rule of D10, in this life.
 *
 * @param inboxes messages that found an inbox full
 * @param connected messages of QoS 1 and 2 that a queue had no room for, those of inboxes among them
 */
record Drops(long inboxes, long connected) {
  static final Drops NONE = new Drops(0, 0);
}
