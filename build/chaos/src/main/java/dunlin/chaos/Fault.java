package dunlin.chaos;

import java.util.Set;

/**
 * One row of the suite: something that happens to the nodes, several times in one trial.
 *
 * @param what in a few words
 * @param fsync what the nodes run with; without it acknowledged writes must be found lost, or the suite sees nothing
 * @param diskFreeMin likewise; 0 for the product's own
 * @param strike does it once, and heals it
 */
record Fault(String name, String what, Set<Need> needs, boolean fsync, long diskFreeMin, Strike strike) {
  /** What the stage must offer. */
  enum Need {
    /** Nodes with a network of their own, to be cut and slowed: needs root. */
    NETWORK,
    /** Nodes with a file system of their own, to be filled and to lose power: needs root. */
    DISK,
    /** An fsync that can be slow or fail: needs a C compiler. */
    FSYNC
  }

  /** What happens once. */
  interface Strike {
    void on(Trial trial);
  }

  static Fault of(String name, String what, Set<Need> needs, Strike strike) {
    return new Fault(name, what, needs, true, 0, strike);
  }

  boolean mustLose() {
    return !fsync;
  }
}
