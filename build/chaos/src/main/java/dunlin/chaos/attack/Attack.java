package dunlin.chaos.attack;

import java.time.Duration;

/**
 * One attack: a line of the table.
 *
 * @param name the name for {@code --only}
 * @param startMax how long the start after it may take
 * @param passwords the broker's password file; empty for none. Clients without credentials are accepted in any case
 */
record Attack(String name, String what, Duration startMax, String passwords, Play play) {
  static final Duration START_MAX = Duration.ofSeconds(10);

  /** The attack itself, which runs until it is done or {@link Assault#over()}. */
  interface Play {
    void play(Assault assault) throws InterruptedException;
  }

  static Attack of(String name, String what, Play play) {
    return new Attack(name, what, START_MAX, "", play);
  }
}
