package dunlin.retain;

/** What became of a {@link RetainCommand}. */
sealed interface RetainResult {
  Stored STORED = new Stored();

  /** The message is its topic's retained message. */
  record Stored() implements RetainResult {}

  /** The message is not kept, and what its topic had stays. */
  record Refused(Limit limit) implements RetainResult {}

  /**
   * @param messages how many were there to be removed
   */
  record Removed(int messages) implements RetainResult {}

  /** Why a message is refused. */
  enum Limit {
    /** It has no payload, or no topic that can be a key. */
    INVALID,
    /** There are as many topics as may be. */
    MESSAGES,
    /** The topics' names together are as long as they may be. */
    TOPIC_BYTES,
    /** The messages together are as large as they may be. */
    BYTES;

    Refused refused() {
      return new Refused(this);
    }
  }
}
