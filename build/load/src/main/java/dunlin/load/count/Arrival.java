package dunlin.load.count;

/** How a message fits what its receiver had before. */
public enum Arrival {
  /** The first of its number, and no later one came before it. */
  IN_ORDER,
  /** The first of its number, behind a later one. */
  OUT_OF_ORDER,
  DUPLICATE,
  /** The books are full; see {@link Budget}. */
  UNCHECKED
}
