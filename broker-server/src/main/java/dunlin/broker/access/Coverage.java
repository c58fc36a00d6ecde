package dunlin.broker.access;

/** How much of a topic filter a client may have. */
public enum Coverage {
  /** Every message that the filter matches. */
  ALL,
  /** A rule allows the filter as a whole, but rules before it deny a part of it: each message has to be checked. */
  PART,
  /** No rule allows the filter as a whole. */
  NONE
}
