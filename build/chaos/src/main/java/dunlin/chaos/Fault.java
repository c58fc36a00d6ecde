package dunlin.chaos;

import java.util.Set;

/**
 * One row of the suite: something that happens to the nodes, several times in one trial.
 *
 * @param what a short description
 * @param fsync whether the nodes use fsync; without it the suite must find lost acknowledged writes, or it is blind
 * @param diskFreeMin the nodes' limit of free space; 0 for the product's default
 * @param strike causes the fault once, and heals it
 */
record Fault(String name, String what, Set<Need> needs, boolean fsync, long diskFreeMin, Strike strike) {
  /** A single strike of the fault. */
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
