package dunlin.inbox.state;

/** Messages of a group that were set aside for another range, which {@link dunlin.inbox.range.Transfers} moves. Its birth is its number. */
public final class Transfer extends Backlog {
  private final int target;

  public Transfer(GroupState group, long number, int target) {
    super(group, number, GroupState.ORIGIN);
    this.target = target;
  }

  public long number() {
    return birth();
  }

  /** The first shard of the target range. */
  public int target() {
    return target;
  }
}
