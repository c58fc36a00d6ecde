package dunlin.chaos;

/** What a row requires of the machine. */
public enum Need {
  /** Nodes with a network of their own, which can be cut and slowed: needs root. */
  NETWORK,
  /** Nodes with a file system of their own, which can be filled and lose power: needs root. */
  DISK,
  /** An fsync that can be slow or fail: needs a C compiler. */
  FSYNC
}
