package dunlin.chaos.attack;

import java.util.Map;

/**
 * One line of the table: what some clients do.
 *
 * @param name as {@code --only} takes it
 * @param settings of the broker beside the defaults
 */
record Attack(String name, String what, Map<String, String> settings, Play play) {
  /** What they do, until it is done or {@link Assault#over()}. */
  interface Play {
    void play(Assault assault) throws InterruptedException;
  }

  static Attack of(String name, String what, Play play) {
    return new Attack(name, what, Map.of(), play);
  }
}
