package dunlin.inbox.range;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.ShardCounters;
import dunlin.model.HashRing;
import dunlin.model.Roster;
import java.util.Collection;
import java.util.NavigableMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A shared subscription with durable members; MQTT 5, section 4.8.2. */
public final class GroupState {
  /*
   * Owner: the applying thread; connected, ring and credit may be read by any thread.
   * Who gets a message follows from the rows alone, so that every replica picks the same member: members with equal loads take
   * turns by client identifier, and the record keeps whose turn was last.
   * Bounds: members by what the store holds, each with at most a window of unacknowledged messages of the group; its inbox
   * by InboxLimits. Coming, going and being picked take logarithmic time, but for members whose inboxes are full: they are
   * passed over one by one.
   */
  /** Where an empty inbox begins: there is as much room in front for what comes back as behind for what comes. */
  static final long ORIGIN = 1L << 62;

  public final GroupKey key;

  /** The epoch in which it began. */
  final long birth;

  /** Where its rows stand. */
  final int shard;

  final Backlog backlog;

  private final NavigableMap<String, GroupMember> members = new TreeMap<>();

  /** Connected members with room in their windows: by how much they have outstanding, then by client identifier. */
  private final TreeMap<Integer, TreeMap<String, GroupMember>> takers = new TreeMap<>();

  private final Roster<GroupMember> connected = new Roster<>();

  /** Of an ordered group; null of others. */
  final @Nullable MemberQueues queues;

  /** The connected members of an ordered group. */
  private final @Nullable HashRing<GroupMember> ring;

  /** The client identifier of the member that had its turn last; empty before the first. */
  private String lastTurn = "";

  /** Messages that online members can take, all together. */
  private long room;

  private int window;

  private volatile int credit;

  /** Whether a member that is online has room in its window; for other threads. */
  private volatile boolean takes;

  private volatile boolean waitsForOthers;

  /** Whether there can be no members in other ranges, since this is the only one. */
  final boolean whole;

  /** What of its messages is on its way to another range; null when nothing is. Written by the applying thread. */
  volatile Transfers.@Nullable Transfer transfer;

  /** @param whole whether its range is the only one */
  public GroupState(GroupKey key, long birth, int window, boolean whole) {
    this.key = key;
    this.birth = birth;
    this.whole = whole;
    shard = ShardCounters.shardOf(birth);
    this.window = window;
    backlog = new Backlog(this, birth, ORIGIN);
    queues = key.filter().ordered() ? new MemberQueues() : null;
    ring = key.filter().ordered() ? new HashRing<>() : null;
  }

  /** One session's part in the group. */
  public static final class GroupMember implements Roster.Placed {
    public final DurableSubscriber subscriber;

    /** Sequences in the session's inbox of the group's messages that it has not acknowledged. */
    final SortedSet<Long> outstanding = new TreeSet<>();

    /** Whether {@link Summaries} is to write what is outstanding, and whether there is a row of that. */
    boolean touched;

    boolean summed;

    /** Whether all that is outstanding was looked at since it went away, and stays with it: QoS 2 exchanges that have begun. */
    boolean keeps;

    /** What it counted for when it was looked at last: its room, and the load that it stands under. */
    private int room;

    private int load;

    /** Among the connected members; -1 when it is not one of them. */
    private int place = -1;

    GroupMember(DurableSubscriber subscriber) {
      this.subscriber = subscriber;
    }

    public SessionState session() {
      return subscriber.session;
    }

    String clientId() {
      return subscriber.session.key.clientId();
    }

    public boolean online() {
      return subscriber.session.owner != null;
    }

    @Override
    public int place() {
      return place;
    }

    @Override
    public void place(int at) {
      place = at;
    }
  }

  int size() {
    return members.size();
  }

  Collection<GroupMember> members() {
    return members.values();
  }

  /** Members with a connection. Any thread may read it. */
  public Roster<GroupMember> connected() {
    return connected;
  }

  /**
   * How many messages its members can take at once; at least 1 while there are any, for the group's inbox takes it. With several ranges at least 2 while one is connected, so that
   * messages go to parts with members that are connected.
   */
  public int credit() {
    return credit;
  }

  /** Whether a member takes a message at once. Any thread. */
  public boolean takes() {
    return takes;
  }

  /** The transfer that has begun and not ended. Any thread. */
  public Transfers.@Nullable Transfer transfer() {
    return transfer;
  }

  /** Whether something waits for members in other ranges, or is on its way to them, as {@link #lookForOthers} found last. Any thread. */
  public boolean waitsForOthers() {
    return waitsForOthers;
  }

  /** Finds out whether something waits for members in other ranges, or is on its way to them. On the applying thread. */
  boolean lookForOthers() {
    waitsForOthers = !whole && (transfer != null || isStuck() || isAloneAndAway());
    return waitsForOthers;
  }

  /** Whether something waits that no member here takes before it does something: comes, or acknowledges. */
  boolean isStuck() {
    if (queues == null) return backlog.count > 0 && room == 0;
    return connected.size() == 0 && (backlog.count > 0 || !queues.all().isEmpty());
  }

  /** Whether its only member here is away, and has been given messages that members elsewhere could have. */
  boolean isAloneAndAway() {
    if (members.size() != 1) return false;
    var member = members.firstEntry().getValue();
    return !member.online() && !member.outstanding.isEmpty() && !member.keeps;
  }

  /** Whether there is anything but members. */
  boolean holds() {
    return waits() || transfer != null;
  }

  /** Where the message waits that is handed on first. */
  Backlog nextToHandOn() {
    var gone = queues == null ? null : queues.lastGone();
    return gone == null ? backlog : gone;
  }

  /** Whether a member that is online has room in its window. */
  boolean hasRoom() {
    return room > 0;
  }

  /** Whether anything waits that goes to members before what is new. */
  boolean waits() {
    return backlog.count > 0 || (queues != null && queues.lastGone() != null);
  }

  /** Whether something waits that may be handed on now. */
  boolean drains() {
    if (queues == null) return backlog.count > 0 && room > 0;
    return queues.anyReady() || (connected.size() > 0 && waits());
  }

  String lastTurn() {
    return lastTurn;
  }

  /** Takes back in whose turn was last. */
  void restoreTurn(String clientId) {
    lastTurn = clientId;
  }

  /** Looks at all members again, after their windows have changed or they were taken back in. */
  void recount(int windowNow) {
    window = windowNow;
    for (GroupMember member : members.values()) place(member);
    publishCredit();
  }

  /** A member has connected or disconnected. */
  void changed(GroupMember member) {
    place(member);
    publishCredit();
  }

  /** A message waits for a member. */
  void queued(MemberQueue queue) {
    var member = members.get(queue.clientId);
    if (member != null) changed(member);
  }

  /** A message was stored for a member that is online and has room. */
  void assigned(GroupMember member, long sequence) {
    member.outstanding.add(sequence);
    lastTurn = member.clientId();
    changed(member);
  }

  /** A member's message is done with, or goes elsewhere. */
  void released(GroupMember member, long sequence) {
    if (member.outstanding.remove(sequence)) changed(member);
  }

  /** Puts a member where it belongs now. */
  private void place(GroupMember member) {
    unplace(member);
    boolean online = member.online();
    if (online && member.place < 0) {
      connected.add(member);
      if (ring != null) ring.add(member.clientId(), member);
    } else if (!online && member.place >= 0) {
      disconnect(member);
    }
    member.load = member.outstanding.size();
    member.room = online ? Math.max(0, window - member.load) : 0;
    room += member.room;
    if (member.room > 0) takers.computeIfAbsent(member.load, _ -> new TreeMap<>()).put(member.clientId(), member);
    if (queues != null) queues.place(member, member.room > 0);
  }

  private void unplace(GroupMember member) {
    room -= member.room;
    if (member.room > 0) {
      takers.computeIfPresent(
          member.load,
          (_, equals) -> {
            equals.remove(member.clientId());
            return equals.isEmpty() ? null : equals;
          });
    }
    member.room = 0;
  }

  private void disconnect(GroupMember member) {
    if (ring != null) ring.remove(member.clientId(), member);
    connected.remove(member);
  }

  private void publishCredit() {
    credit = members.isEmpty() ? 0 : Math.clamp(room, whole || connected.size() == 0 ? 1 : 2, Integer.MAX_VALUE);
    takes = room > 0;
  }

  @Nullable GroupMember member(SessionState session) {
    var member = members.get(session.key.clientId());
    return member != null && member.session() == session ? member : null;
  }

  /** Adds a member that is not there. Answers whether it is the first one. */
  boolean join(DurableSubscriber subscriber) {
    var member = new GroupMember(subscriber);
    var before = members.put(member.clientId(), member);
    assert before == null : "a member joins twice";
    changed(member);
    return members.size() == 1;
  }

  /** Removes a member. Answers whether it was the last one. */
  boolean leave(GroupMember member) {
    members.remove(member.clientId());
    unplace(member);
    if (queues != null) queues.remove(member);
    if (member.place >= 0) disconnect(member);
    publishCredit();
    return members.isEmpty();
  }

  /** Of the members that are online and have room, the least loaded one that a message fits; equals take turns. */
  @Nullable GroupMember leastLoaded(Predicate<GroupMember> fits) {
    for (TreeMap<String, GroupMember> equals : takers.values()) {
      for (GroupMember member : equals.tailMap(lastTurn, false).values()) if (fits.test(member)) return member;
      for (GroupMember member : equals.headMap(lastTurn, true).values()) if (fits.test(member)) return member;
    }
    return null;
  }

  /** The connected member that the publisher's messages stay with in an ordered group. Any thread. */
  public @Nullable GroupMember ordered(String publisher) {
    return ring == null ? null : ring.find(publisher);
  }

  /** How many messages a member's window has room for; 0 while it is not online. */
  int room(GroupMember member) {
    return member.room;
  }
}
