package dunlin.chaos.mqtt;

/**
 * What the broker says to have left out on purpose by a rule of D10, in this life.
 *
 * @param inboxes messages that found an inbox full
 * @param connected messages that a connected session's queue had no room for
 */
record Drops(long inboxes, long connected) {
  static final Drops NONE = new Drops(0, 0);
}
