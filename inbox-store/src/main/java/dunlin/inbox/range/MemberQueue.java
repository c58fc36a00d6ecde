package dunlin.inbox.range;

/** What waits in an ordered group for one of its members, or waited for one that is gone. */
final class MemberQueue extends Backlog {
  /** The client identifier of the member. */
  final String clientId;

  /** When its member went, as a number of the epoch counter; 0 while the member is there. */
  long goneAt;

  MemberQueue(GroupState group, long birth, String clientId) {
    super(group, birth, GroupState.ORIGIN);
    this.clientId = clientId;
  }
}
