package dunlin.retain;

/** What became of a {@link RetainCommand}. */
sealed interface RetainResult {
  Stored STORED = new Stored();
  Refused REFUSED = new Refused();

  /** The message is its topic's retained message. */
  record Stored() implements RetainResult {}

  /** The range has as many messages as it may have, and none of this topic. */
  record Refused() implements RetainResult {}

  /**
   * @param messages how many were there to be removed
   */
  record Removed(int messages) implements RetainResult {}
}
