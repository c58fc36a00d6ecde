package dunlin.retain;

/**
 * How much may be retained, in all ranges of a node together; or, in a command, in its range. A message
 * that would go beyond is refused with 0x97; what its topic has stays.
 *
 * @param messagesMax how many topics may have a message
 * @param topicBytesMax bytes of these topics' keys together, as UTF-8 with the tenant's name. They are kept in memory, in at most twice as much
 * @param bytesMax bytes of topics and messages together, on disk. A message counts for up to an eighth more than it has. One in place of
 *     a larger one is taken whatever there is
 */
public record RetainBounds(long messagesMax, long topicBytesMax, long bytesMax) {
  /** Bounds nothing. */
  public static final RetainBounds NONE = new RetainBounds(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);

  public RetainBounds {
    if (messagesMax < 0) throw new IllegalArgumentException("retained messages: at most " + messagesMax);
    if (topicBytesMax < 0) throw new IllegalArgumentException("bytes of retained topics: at most " + topicBytesMax);
    if (bytesMax < 0) throw new IllegalArgumentException("bytes of retained messages: at most " + bytesMax);
  }
}
