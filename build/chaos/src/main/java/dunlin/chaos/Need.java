package dunlin.chaos;

/** What a row requires of the machine. */
public enum Need {
  /** Nodes with a network of their own, which can be cut and slowed: needs root. */
  NETWORK("a network of its own"),
  /** Nodes with a file system of their own, which can be filled and lose power: needs root. */
  DISK("a file system of its own"),
  /** An fsync that can be slow or fail: needs a C compiler. */
  FSYNC("a controlled fsync"),
  /** A wall clock that can be moved: needs a C compiler. */
  CLOCK("a controlled clock"),
  /** The distribution of another version, with which processes begin. */
  PREVIOUS("the distribution of an earlier version, given by --previous");

  private final String what;

  Need(String what) {
    this.what = what;
  }

  @Override
  public String toString() {
    return what;
  }
}
