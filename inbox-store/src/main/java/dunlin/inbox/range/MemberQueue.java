package dunlin.inbox.range;

/** The messages of an ordered group that wait for one member, present or former. */
final class MemberQueue extends Backlog {
  /** The client identifier of the member. */
  final String clientId;

  /** When its member left, as a number of the epoch counter; 0 while it is a member. */
  long goneAt;

  MemberQueue(GroupState group, long birth, String clientId) {
    super(group, birth, GroupState.ORIGIN);
    this.clientId = clientId;
  }
}
