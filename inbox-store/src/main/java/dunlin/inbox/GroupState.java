package dunlin.inbox;

import java.util.Arrays;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A shared subscription with durable members; MQTT 5, section 4.8.2. */
final class GroupState {
  /*
   * Owner: the applying thread; members and credit are published to any thread, whole arrays at a time.
   * Bounds: members by what the store holds, each with at most a window of unacknowledged messages of the group; its inbox
   * by InboxLimits. Picking a member looks at no more than all members once, and ends at the first idle one.
   */
  /** Where an empty inbox begins: there is as much room in front for what comes back as behind for what comes. */
  static final long ORIGIN = 1L << 62;

  final GroupKey key;

  /** The epoch counter when it began. */
  final long birth;

  final Backlog backlog;

  /** Sorted by client identifier. */
  private volatile GroupMember[] members = {};

  private volatile int credit;

  /** Messages given to members so far; where the search for the next member begins, so that equals take turns. */
  long assigned;

  /** Messages that online members can take, all together. */
  private long room;

  GroupState(GroupKey key, long birth) {
    this.key = key;
    this.birth = birth;
    backlog = new Backlog(key.tenant(), SessionKeys.groupMessages(key, birth), null, ORIGIN);
  }

  /** One session's part in the group. */
  static final class GroupMember {
    final Subscriber subscriber;

    /** Sequences in the session's inbox of the group's messages that it has not acknowledged. */
    final SortedSet<Long> outstanding = new TreeSet<>();

    GroupMember(Subscriber subscriber) {
      this.subscriber = subscriber;
    }

    SessionState session() {
      return subscriber.session;
    }

    boolean online() {
      return subscriber.session.owner != null;
    }
  }

  GroupMember[] members() {
    return members;
  }

  /** How many messages its members can take at once; at least 1 while there are any, for the group's inbox takes it. */
  int credit() {
    return credit;
  }

  /** Whether a member that is online has room in its window. */
  boolean hasRoom() {
    return room > 0;
  }

  /** Counts the room again, after a member has come, gone, connected or disconnected. */
  void recount(int window) {
    room = 0;
    for (GroupMember member : members) {
      if (member.online()) room += Math.max(0, window - member.outstanding.size());
    }
    publishCredit();
  }

  /** A message was stored for a member that is online and has room. */
  void assigned(GroupMember member, long sequence) {
    member.outstanding.add(sequence);
    assigned++;
    room--;
    publishCredit();
  }

  /** A member's message is done with, or goes elsewhere. */
  void released(GroupMember member, long sequence, int window) {
    if (!member.outstanding.remove(sequence)) return;
    if (member.online() && member.outstanding.size() < window) room++;
    publishCredit();
  }

  private void publishCredit() {
    credit = members.length == 0 ? 0 : Math.clamp(room, 1, Integer.MAX_VALUE);
  }

  @Nullable GroupMember member(SessionState session) {
    int i = find(session.key.clientId());
    return i >= 0 && members[i].session() == session ? members[i] : null;
  }

  /** Adds a member that is not there. Answers whether it is the first one of its bucket. */
  boolean join(Subscriber subscriber) {
    int i = find(subscriber.session.key.clientId());
    assert i < 0 : "a member joins twice";
    boolean first = !hasBucket(subscriber.session.bucket);
    int at = -i - 1;
    var next = Arrays.copyOf(members, members.length + 1);
    System.arraycopy(members, at, next, at + 1, members.length - at);
    next[at] = new GroupMember(subscriber);
    members = next;
    return first;
  }

  /** Removes a member. Answers whether it was the last one of its bucket. */
  boolean leave(GroupMember member) {
    int at = find(member.session().key.clientId());
    var next = Arrays.copyOf(members, members.length - 1);
    System.arraycopy(members, at + 1, next, at, next.length - at);
    members = next;
    return !hasBucket(member.session().bucket);
  }

  /** The place of a client identifier, or where it belongs as {@code -place - 1}. */
  private int find(String clientId) {
    int low = 0;
    int high = members.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = members[middle].session().key.clientId().compareTo(clientId);
      if (order == 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -low - 1;
  }

  private boolean hasBucket(int bucket) {
    for (GroupMember member : members) if (member.session().bucket == bucket) return true;
    return false;
  }

  /** The member that the publisher's messages stay with in an ordered group: rendezvous hashing over those online. */
  static @Nullable GroupMember ordered(GroupMember[] members, String publisher) {
    GroupMember best = null;
    int bestHash = 0;
    for (GroupMember member : members) {
      if (!member.online()) continue;
      int hash = mix(31 * publisher.hashCode() + member.session().key.clientId().hashCode());
      if (best != null && hash <= bestHash) continue;
      best = member;
      bestHash = hash;
    }
    return best;
  }

  private static int mix(int hash) {
    int mixed = (hash ^ hash >>> 16) * 0x85ebca6b;
    mixed = (mixed ^ mixed >>> 13) * 0xc2b2ae35;
    return mixed ^ mixed >>> 16;
  }
}
