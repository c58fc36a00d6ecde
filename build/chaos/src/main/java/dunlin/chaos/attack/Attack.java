package dunlin.chaos.attack;

/**
 * One attack: a line of the table.
 *
 * @param name the name for {@code --only}
 * @param passwords the broker's password file; empty for none. Clients without credentials are accepted in any case
 */
record Attack(String name, String what, String passwords, Play play) {
  /** The attack itself, which runs until it is done or {@link Assault#over()}. */
  interface Play {
    void play(Assault assault) throws InterruptedException;
  }

  static Attack of(String name, String what, Play play) {
    return new Attack(name, what, "", play);
  }
}
