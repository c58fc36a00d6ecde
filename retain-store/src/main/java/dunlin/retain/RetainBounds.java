package dunlin.retain;

/**
 * Limits of retained messages, for all ranges together; in a command, for its range. A message beyond them is
 * refused with 0x97, and the topic's present message stays.
 *
 * @param messagesMax topics with a message
 * @param topicBytesMax bytes of these topics' keys together, in UTF-8 with the tenant's name. They are kept in memory
 *     and use at most twice as much
 * @param bytesMax bytes of topics and messages together, on disk. A message counts for up to an eighth more than its
 *     size. One that replaces a larger one is always accepted
 */
public record RetainBounds(long messagesMax, long topicBytesMax, long bytesMax) {
  /** No limits. */
  public static final RetainBounds NONE = new RetainBounds(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);

  public RetainBounds {
    if (messagesMax < 0) throw new IllegalArgumentException("retained messages: at most " + messagesMax);
    if (topicBytesMax < 0) throw new IllegalArgumentException("bytes of retained topics: at most " + topicBytesMax);
    if (bytesMax < 0) throw new IllegalArgumentException("bytes of retained messages: at most " + bytesMax);
  }

  /** The same for messages of topics that have one: a name is in memory, a message is not. */
  RetainBounds withoutNewTopics() {
    return new RetainBounds(messagesMax, 0, bytesMax);
  }
}
