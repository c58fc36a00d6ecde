package dunlin.broker.users;

/** A change of one row that is asked for. */
public sealed interface AccessChange {
  /** For any present version, also none. */
  long ANY = -1;

  /** For a row that must not be there. */
  long ABSENT = 0;

  /**
   * Creates or replaces a row.
   *
   * @param expected the version that the row must have; {@link #ANY} or {@link #ABSENT}
   * @param keepsVerifier for a user: whether the verifier of the present row, if there is one, is kept instead of that in the entry
   */
  record Put(long expected, AccessEntry entry, boolean keepsVerifier) implements AccessChange {}

  /** Deletes a row. A role that users have stays. */
  record Delete(long expected, AccessEntry.RowKey key) implements AccessChange {}
}
