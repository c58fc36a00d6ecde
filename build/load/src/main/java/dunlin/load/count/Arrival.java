package dunlin.load.count;

/** How a message relates to the earlier messages of its receiver. */
public enum Arrival {
  /** The first with its number, after all lower numbers received. */
  IN_ORDER,
  /** The first with its number, but after a higher number. */
  OUT_OF_ORDER,
  DUPLICATE,
  /** The books are full; see {@link Budget}. */
  UNCHECKED
}
