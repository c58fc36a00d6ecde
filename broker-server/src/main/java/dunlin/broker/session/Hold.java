package dunlin.broker.session;

/** Why a connection is not read from. */
public enum Hold {
  /** It is being authenticated, or its session opened. */
  OPENING(1),
  /** Its lane is out of credit. */
  CREDIT(2),
  /** It has as many publishes unacknowledged as it may. */
  PENDING(4),
  /** The stores work on as many of its other packets as it may have in progress. */
  OPERATIONS(8),
  /** It does not read what it is sent: answers to its packets pile up. */
  SOCKET(16),
  /** A shared subscription that it publishes to takes nothing now. */
  GROUP(32),
  /** It has taken its session over from a connection whose publishes are not all answered. */
  TAKEOVER(64),
  /** Its next packet may only take effect after a SUBSCRIBE or UNSUBSCRIBE that is not answered yet. */
  ORDER(128),
  /** It holds more of what it has sent than there is memory for. What is held is handled all the same. */
  MEMORY(256);

  private final int bit;

  Hold(int bit) {
    this.bit = bit;
  }

  /** One of an int that has one for each reason. */
  public int bit() {
    return bit;
  }
}
