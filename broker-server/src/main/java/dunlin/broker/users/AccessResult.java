package dunlin.broker.users;

/** The result of an {@link AccessCommand}. */
public sealed interface AccessResult {
  /** @param version of the row, if there is one now; else of the range */
  record Done(long version) implements AccessResult {}

  /** Nothing has changed. */
  record Refused(Why why, String sentence) implements AccessResult {}

  /** Why a change is refused. */
  enum Why {
    /** The row has another version than the one that was expected. */
    CONFLICT,
    /** There is no such row. */
    MISSING,
    /** A bound is reached. */
    FULL,
    /** A user names a role that there is not, or a role that users have is to be deleted. */
    ROLES
  }
}
