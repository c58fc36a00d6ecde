package dunlin.inbox.rows;

/**
 * A position in a queue that is ordered by a number, such as a time, and then by when its owner was created.
 *
 * @param id unique in the queue
 */
public record DueKey(long at, long id) implements Comparable<DueKey> {
  @Override
  public int compareTo(DueKey other) {
    int byTime = Long.compare(at, other.at);
    return byTime != 0 ? byTime : Long.compare(id, other.id);
  }
}
