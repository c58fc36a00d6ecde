package dunlin.retain;

/** The result of a {@link RetainCommand}. */
sealed interface RetainResult {
  Stored STORED = new Stored();
  Present PRESENT = new Present();

  /** The message is now its topic's retained message. */
  record Stored() implements RetainResult {}

  /** The topic has a message, which stays. */
  record Present() implements RetainResult {}

  /** The message is refused, and the topic's present message stays. */
  record Refused(Limit limit) implements RetainResult {}

  /**
   * @param messages how many were removed
   */
  record Removed(int messages) implements RetainResult {}

  /** Why a message is refused. */
  enum Limit {
    /** The message has no payload, or its topic cannot be a key. */
    INVALID,
    /** The maximum number of topics is reached. */
    MESSAGES,
    /** The maximum of the topics' bytes is reached. */
    TOPIC_BYTES,
    /** The maximum of the messages' bytes is reached. */
    BYTES;

    Refused refused() {
      return new Refused(this);
    }
  }
}
