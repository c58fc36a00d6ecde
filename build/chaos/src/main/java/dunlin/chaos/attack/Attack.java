package dunlin.chaos.attack;

import java.time.Duration;

/**
 * One attack: a line of the table.
 *
 * @param name the name for {@code --only}
 * @param startMax how long the start after it may take
 * @param passwords the broker's password file; empty for none. Clients without credentials are accepted in any case
 * @param mustLog a text that the broker must have logged by the end of the attack; empty for none
 */
record Attack(String name, String what, Duration startMax, String passwords, String mustLog, Play play) {
  static final Duration START_MAX = Duration.ofSeconds(10);

  /** The attack itself, which runs until it is done or {@link Assault#over()}. */
  interface Play {
    void play(Assault assault) throws InterruptedException;
  }

  static Attack of(String name, String what, Play play) {
    return new Attack(name, what, START_MAX, "", "", play);
  }
}
