package dunlin.chaos.attack;

/**
 * What one tenant does to others: a line of the table.
 *
 * @param name the name for {@code --only}
 * @param share how much of it a neighbour does in a second
 */
record Flood(String name, String what, int share, Play play) {
  /** The flood itself, which runs until {@link Assault#over()}. */
  interface Play {
    /** @param perSecond how many requests it makes */
    void play(Assault assault, int perSecond) throws InterruptedException;
  }
}
