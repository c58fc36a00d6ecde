package dunlin.inbox.state;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.ShardCounters;
import dunlin.model.HashRing;
import dunlin.model.Roster;
import java.util.Collection;
import java.util.NavigableMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A shared subscription with durable members; MQTT 5, section 4.8.2. */
public final class GroupState {
  /*
   * Owner: the applying thread; connected, ring and credit may be read by any thread, and for operators the members, what waits and what was dealt.
   * The member that gets a message follows from the rows alone, so that every replica picks the same one: members with
   * equal loads take turns by client identifier, and the group's record keeps whose turn was last.
   * Bounds: members by the number of subscriptions, each with at most a window of unacknowledged messages of the group;
   * its inbox by InboxLimits. Joining, leaving and picking take logarithmic time, except that members with full inboxes
   * are skipped one by one.
   */
  /**
   * The first sequence of an empty inbox. There are as many sequences in front of it, for messages that are given back,
   * as behind it, for new ones.
   */
  public static final long ORIGIN = 1L << 62;

  public final GroupKey key;

  /** The epoch in which it began. */
  public final long birth;

  /** The shard of its rows. */
  public final int shard;

  public final Backlog backlog;

  private final NavigableMap<String, GroupMember> members = new ConcurrentSkipListMap<>();

  /** How often messages were given to members; also by threads that deliver QoS 0 past the log. */
  private final LongAdder dealt = new LongAdder();

  /**
   * Connected members with room in their windows, ordered by their number of outstanding messages and then by client
   * identifier.
   */
  private final TreeMap<Integer, TreeMap<String, GroupMember>> takers = new TreeMap<>();

  private final Roster<GroupMember> connected = new Roster<>();

  /** The queues of an ordered group; null for other groups. */
  public final @Nullable MemberQueues queues;

  /** The connected members of an ordered group. */
  private final @Nullable HashRing<GroupMember> ring;

  /** The client identifier of the member whose turn was last; empty before the first turn. */
  private String lastTurn = "";

  /** Number of messages that all online members together can take. */
  private long room;

  private int window;

  private volatile int credit;

  /** Whether an online member has room in its window; read by other threads. */
  private volatile boolean takes;

  private volatile boolean waitsForOthers;

  /** Whether there is only one range, so that there are no members in other ranges. */
  public final boolean whole;

  /** The transfer of its messages to another range that is in progress, or null. Written by the applying thread. */
  public volatile @Nullable Transfer transfer;

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

  /** One session's membership in the group. */
  public static final class GroupMember implements Roster.Placed {
    public final DurableSubscriber subscriber;

    /** Sequences, in the session's inbox, of the group's messages that it has not acknowledged. */
    public final SortedSet<Long> outstanding = new TreeSet<>();

    /** How often it was given a message of the group; as that of the group. */
    private final LongAdder dealt = new LongAdder();

    /** Whether {@link Summaries} has to write what is outstanding, and whether a row of that exists. */
    boolean touched;

    public boolean summed;

    /**
     * Whether all outstanding messages were examined since the member went offline, and stay with it because they are
     * QoS 2 exchanges in progress.
     */
    public boolean keeps;

    /** Its room and its load, as they were last counted for the group. */
    private int room;

    private int load;

    /** Its index among the connected members; -1 if it is not connected. */
    private int place = -1;

    GroupMember(DurableSubscriber subscriber) {
      this.subscriber = subscriber;
    }

    public SessionState session() {
      return subscriber.session;
    }

    public String clientId() {
      return subscriber.session.key.clientId();
    }

    /** How often it was given a message since this replica has the group in memory. Any thread. */
    public long dealtSoFar() {
      return dealt.sum();
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

  public int size() {
    return members.size();
  }

  public Collection<GroupMember> members() {
    return members.values();
  }

  /** Members behind a client identifier, in the order of these. Any thread; those that come or go at the same time may be among them or not. */
  public Collection<GroupMember> membersBehind(String clientId) {
    return members.tailMap(clientId, false).values();
  }

  /** How many messages wait for members, in an ordered group for each apart. Any thread, of about this moment. */
  public int waiting() {
    return backlog.count() + (queues == null ? 0 : queues.messages());
  }

  /** How many messages of an ordered group wait for this member; 0 in other groups. Any thread, of about this moment. */
  public int waitingFor(GroupMember member) {
    return queues == null ? 0 : queues.messages(member);
  }

  /** Bytes of all that wait. */
  public long waitingBytes() {
    return backlog.bytes() + (queues == null ? 0 : queues.bytes());
  }

  /** Notes that a member was given a message. Any thread. */
  public void dealt(GroupMember member) {
    dealt.increment();
    member.dealt.increment();
  }

  /** How often members were given a message since this replica has the group in memory. Any thread. */
  public long dealtSoFar() {
    return dealt.sum();
  }

  /** Members with a connection. Any thread may read it. */
  public Roster<GroupMember> connected() {
    return connected;
  }

  /**
   * How many messages its members can take at once; at least 1 while it has members, because the group's inbox takes
   * one. With several ranges it is at least 2 while a member is connected, so that messages go to ranges with connected
   * members.
   */
  public int credit() {
    return credit;
  }

  /** Whether a member can take a message at once. Any thread. */
  public boolean takes() {
    return takes;
  }

  /** The transfer in progress, or null. Any thread. */
  public @Nullable Transfer transfer() {
    return transfer;
  }

  /**
   * Whether messages wait for members in other ranges or are in transfer to them, as {@link #lookForOthers} last found.
   * Any thread.
   */
  public boolean waitsForOthers() {
    return waitsForOthers;
  }

  /**
   * Finds out whether messages wait for members in other ranges or are in transfer to them. On the applying thread.
   */
  public boolean lookForOthers() {
    waitsForOthers = !whole && (transfer != null || isStuck() || isAloneAndAway());
    return waitsForOthers;
  }

  /** Whether messages wait that no member in this range takes before one connects or acknowledges. */
  public boolean isStuck() {
    if (queues == null) return backlog.count > 0 && room == 0;
    return connected.size() == 0 && (backlog.count > 0 || !queues.all().isEmpty());
  }

  /**
   * Whether its only member in this range is offline and has been given messages that members in other ranges could
   * take.
   */
  boolean isAloneAndAway() {
    if (members.size() != 1) return false;
    var member = members.firstEntry().getValue();
    return !member.online() && !member.outstanding.isEmpty() && !member.keeps;
  }

  /** Whether messages wait in its inbox or in queues of former members, or are in transfer to another range. */
  public boolean holds() {
    return waits() || transfer != null;
  }

  /** Where the next message to hand on waits. */
  public Backlog nextToHandOn() {
    var gone = queues == null ? null : queues.lastGone();
    return gone == null ? backlog : gone;
  }

  /** Whether an online member has room in its window. */
  public boolean hasRoom() {
    return room > 0;
  }

  /** Whether messages wait that members must get before new ones. */
  public boolean waits() {
    return backlog.count > 0 || (queues != null && queues.lastGone() != null);
  }

  /** Whether a waiting message can be handed on now. */
  public boolean drains() {
    if (queues == null) return backlog.count > 0 && room > 0;
    return queues.anyReady() || (connected.size() > 0 && waits());
  }

  public String lastTurn() {
    return lastTurn;
  }

  /** Restores whose turn was last. */
  public void restoreTurn(String clientId) {
    lastTurn = clientId;
  }

  /** Counts all members again, after the window has changed or they were restored. */
  public void recount(int windowNow) {
    window = windowNow;
    for (GroupMember member : members.values()) place(member);
    publishCredit();
  }

  /** Notes that a member has connected or disconnected. */
  public void changed(GroupMember member) {
    place(member);
    publishCredit();
  }

  /** Notes that a message waits for a member. */
  public void queued(MemberQueue queue) {
    var member = members.get(queue.clientId);
    if (member != null) changed(member);
  }

  /** Notes that a message was stored for an online member with room. */
  public void assigned(GroupMember member, long sequence) {
    member.outstanding.add(sequence);
    dealt(member);
    lastTurn = member.clientId();
    changed(member);
  }

  /** Notes that a member's message was acknowledged or goes elsewhere. */
  public void released(GroupMember member, long sequence) {
    if (member.outstanding.remove(sequence)) changed(member);
  }

  /** Updates a member's position after a change. */
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

  public @Nullable GroupMember member(SessionState session) {
    var member = members.get(session.key.clientId());
    return member != null && member.session() == session ? member : null;
  }

  /** Adds a new member. Answers whether it is the first one. */
  public boolean join(DurableSubscriber subscriber) {
    var member = new GroupMember(subscriber);
    var before = members.put(member.clientId(), member);
    assert before == null : "a member joins twice";
    changed(member);
    return members.size() == 1;
  }

  /** Removes a member. Answers whether it was the last one. */
  public boolean leave(GroupMember member) {
    members.remove(member.clientId());
    unplace(member);
    if (queues != null) queues.remove(member);
    if (member.place >= 0) disconnect(member);
    publishCredit();
    return members.isEmpty();
  }

  /** The least loaded online member with room for a message; members with equal loads take turns. */
  public @Nullable GroupMember leastLoaded(Predicate<GroupMember> fits) {
    for (TreeMap<String, GroupMember> equals : takers.values()) {
      for (GroupMember member : equals.tailMap(lastTurn, false).values()) if (fits.test(member)) return member;
      for (GroupMember member : equals.headMap(lastTurn, true).values()) if (fits.test(member)) return member;
    }
    return null;
  }

  /** The connected member that gets a publisher's messages in an ordered group. Any thread. */
  public @Nullable GroupMember ordered(String publisher) {
    return ring == null ? null : ring.find(publisher);
  }

  /** How many messages a member's window has room for; 0 while it is offline. Any thread, of about this moment. */
  public int room(GroupMember member) {
    return member.room;
  }
}
