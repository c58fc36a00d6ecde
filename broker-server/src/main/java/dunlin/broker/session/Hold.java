package dunlin.broker.session;

/** Why a connection is not read from. */
public enum Hold {
  /** It is being authenticated, or its session is being opened. */
  OPENING(1),
  /** Its lane has no credit. */
  CREDIT(2),
  /** It has the maximum number of unacknowledged publishes. */
  PENDING(4),
  /** It has the maximum number of other packets in progress in the stores. */
  OPERATIONS(8),
  /** Too many answers to its packets wait for its socket, because the client does not read them. */
  SOCKET(16),
  /** A shared subscription that it publishes to takes no messages now. */
  GROUP(32),
  /** It has taken over its session from a connection with unanswered publishes. */
  TAKEOVER(64),
  /** Its next packet must not take effect before an unanswered SUBSCRIBE or UNSUBSCRIBE. */
  ORDER(128),
  /** It holds more unprocessed bytes than there is memory for. The held packets are processed nevertheless. */
  MEMORY(256),
  /** Its tenant has sent too much for a while. */
  TENANT(512),
  /** Its tenant, or it, has used the event loop for long; others come first. */
  TURN(1024);

  private final int bit;

  Hold(int bit) {
    this.bit = bit;
  }

  /** The bit of this reason in a set of reasons. */
  public int bit() {
    return bit;
  }
}
