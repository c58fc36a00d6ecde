package dunlin.load.plan;

/**
 * The clients of each pool that one of several processes runs: every n-th client, so that each process has its part of
 * every ramp and rate. Numbers and names are the same as in a single process.
 */
public record Share(int index, int of) {
  public static final Share ALL = new Share(0, 1);
  public static final int SHARES_MAX = 1_000;

  public Share {
    if (of < 1 || of > SHARES_MAX) throw new IllegalArgumentException("a run is shared out to 1 to %,d workers, and not to %,d".formatted(SHARES_MAX, of));
    if (index < 0 || index >= of) throw new IllegalArgumentException("there is no share %d of %d".formatted(index, of));
  }

  public boolean has(int client) {
    return client % of == index;
  }

  /** The number of its clients out of all clients of a pool. */
  public int size(int clients) {
    return (clients - index + of - 1) / of;
  }

  /** The number of the client at a place in the share. */
  public int client(int place) {
    return place * of + index;
  }

  /** The place of a client in the share. */
  public int place(int client) {
    return client / of;
  }

  public boolean isAll() {
    return of == 1;
  }
}
