package dunlin.load.client;

/**
 * What one stream has sent: what its receivers are held against, in whichever process they are.
 *
 * @param marks steps, each with the number of its first message
 * @param exempt messages that were refused or never acknowledged, in no order
 */
public record Sent(int stream, long messages, long[] marks, long[] exempt) {
  /** The number of the first message that it sent in a step or later. */
  public long firstOf(int step) {
    for (int i = 0; i < marks.length; i += 2) if (marks[i] >= step) return marks[i + 1];
    return messages;
  }
}
