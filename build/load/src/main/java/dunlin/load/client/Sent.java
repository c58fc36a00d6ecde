package dunlin.load.client;

/**
 * The messages that a stream has sent. Its receivers, in all processes, are compared with them.
 *
 * @param marks steps, each with the number of its first message
 * @param exempt messages that were refused or never acknowledged, unordered
 */
public record Sent(int stream, long messages, long[] marks, long[] exempt) {
  /** The number of the first message sent in a step or later. */
  public long firstOf(int step) {
    for (int i = 0; i < marks.length; i += 2) if (marks[i] >= step) return marks[i + 1];
    return messages;
  }
}
