package dunlin.broker.users;

/** The result of an {@link AccessCommand}. */
public sealed interface AccessResult {
  /** @param version of the row, if there is one now; else of the range */
  record Done(long version) implements AccessResult {}

  /** Nothing has changed. */
  record Refused(Why why, String sentence) implements AccessResult {}

  /** Why a change is refused. The codes are those of answers to other nodes. */
  enum Why {
    /** The row has another version than the one that was expected. */
    CONFLICT(1),
    /** There is no such row. */
    MISSING(2),
    /** A bound is reached. */
    FULL(3),
    /** A user names a role that there is not, or a role that users have is to be deleted. */
    ROLES(4);

    private final int code;

    Why(int code) {
      this.code = code;
    }

    int code() {
      return code;
    }

    static Why of(int code) {
      for (Why each : values()) if (each.code == code) return each;
      throw new IllegalStateException("reason " + code + " of a refusal");
    }
  }
}
