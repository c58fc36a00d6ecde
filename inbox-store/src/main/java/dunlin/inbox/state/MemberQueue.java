package dunlin.inbox.state;

/** The messages of an ordered group that wait for one member, present or former. */
public final class MemberQueue extends Backlog {
  /** The client identifier of the member. */
  public final String clientId;

  /** When its member left, as a number of the epoch counter; 0 while it is a member. */
  public long goneAt;

  public MemberQueue(GroupState group, long birth, String clientId) {
    super(group, birth, GroupState.ORIGIN);
    this.clientId = clientId;
  }
}
