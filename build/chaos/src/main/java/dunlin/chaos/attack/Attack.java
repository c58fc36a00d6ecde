package dunlin.chaos.attack;

/**
 * One line of the table: what some clients do.
 *
 * @param name as {@code --only} takes it
 * @param passwords the broker's password file; empty for none. Clients without credentials are let in all the same
 */
record Attack(String name, String what, String passwords, Play play) {
  /** What they do, until it is done or {@link Assault#over()}. */
  interface Play {
    void play(Assault assault) throws InterruptedException;
  }

  static Attack of(String name, String what, Play play) {
    return new Attack(name, what, "", play);
  }
}
