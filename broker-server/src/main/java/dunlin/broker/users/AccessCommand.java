package dunlin.broker.users;

import java.util.List;

/** The commands in the log of the range. */
public sealed interface AccessCommand {
  /** For any present version, also none. */
  long ANY = -1;

  /** For a row that must not be there. */
  long ABSENT = 0;

  /**
   * Creates or replaces a row.
   *
   * @param bounds from the settings of the node that leads, since replicas may have different ones
   * @param expected the version that the row must have; {@link #ANY} or {@link #ABSENT}
   * @param keepsVerifier for a user: whether the verifier of the present row, if there is one, is kept instead of that in the entry
   * @param secret becomes the secret of the range if it has none yet
   */
  record Put(AccessBounds bounds, long expected, AccessEntry entry, boolean keepsVerifier, byte[] secret) implements AccessCommand {}

  /** Deletes a row. A role that users have stays. */
  record Delete(long expected, AccessEntry.RowKey key) implements AccessCommand {}

  /**
   * Deletes those of these bans that have ended.
   *
   * @param nowMillis the clock of the node that leads
   */
  record Sweep(long nowMillis, List<AccessEntry.RowKey> bans) implements AccessCommand {
    /** The most bans of one command. */
    static final int BANS_MAX = 256;

    public Sweep {
      bans = List.copyOf(bans);
    }
  }
}
