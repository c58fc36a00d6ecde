package dunlin.inbox.between;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A range of sessions as the leader of another one asks it. Futures fail with a {@code StoreException} while the range has no leader that answers. */
public interface OtherRange {
  /** The most sessions of one question. */
  int SESSIONS_MAX = 1_024;

  /** The most groups or transfers of one question. */
  int NAMES_MAX = 256;

  /**
   * What a range has of the quantities that are bounded for all ranges together.
   *
   * @param durable durable sessions
   * @param memory bytes of sessions and subscriptions
   * @param messageBytes bytes of the messages in all inboxes
   */
  record Sums(long durable, long memory, long messageBytes) {
    /** Of a range without sessions. */
    public static final Sums NONE = new Sums(0, 0, 0);

    public Sums {
      if (durable < 0 || memory < 0 || messageBytes < 0) throw new IllegalArgumentException("sums of a range are %d, %d and %d".formatted(durable, memory, messageBytes));
    }

    Sums plus(Sums other) {
      return new Sums(durable + other.durable, memory + other.memory, messageBytes + other.messageBytes);
    }
  }

  /**
   * A session of a client.
   *
   * @param birth the epoch of its first connection, which tells it from other sessions of the client
   */
  record Birth(String tenant, String clientId, long birth) {}

  /**
   * The part of a group that a range has.
   *
   * @param credit how many messages its members can take at once; 0 without members, and at least 1 with any
   * @param takes whether one of them can take a message at once
   */
  record GroupPart(int credit, boolean takes) {
    /** Of a group without members. */
    public static final GroupPart NONE = new GroupPart(0, false);

    public GroupPart {
      if (credit < 0 || (takes && credit == 0)) throw new IllegalArgumentException("a part of a group with credit " + credit);
    }
  }

  /** A number under which this range has set messages of a group aside for another one. */
  record SetAside(GroupKey group, long number) {}

  /** What became of messages for a group. */
  enum Taken {
    /** They are stored. */
    YES,
    /** The range has no member that takes them; or it was given them before, and gave them back. */
    NO,
    /** The inbox is full. */
    FULL
  }

  /**
   * What a tenant has in a range.
   *
   * @param durable durable sessions
   * @param subscriptions of these
   * @param messageBytes bytes of the messages in all inboxes
   */
  record Held(long durable, long subscriptions, long messageBytes) {
    /** Of a tenant without sessions. */
    public static final Held NONE = new Held(0, 0, 0);

    public Held {
      if (durable < 0 || subscriptions < 0 || messageBytes < 0) throw new IllegalArgumentException("a tenant has %d, %d and %d".formatted(durable, subscriptions, messageBytes));
    }

    Held plus(Held other) {
      return new Held(durable + other.durable, subscriptions + other.subscriptions, messageBytes + other.messageBytes);
    }
  }

  CompletableFuture<Sums> sums();

  /**
   * Asks what tenants have in this range.
   *
   * @param tenants at most {@code WantedTenants.TENANTS_MAX}
   * @return for each, in their order
   */
  CompletableFuture<List<Held>> held(List<String> tenants);

  /**
   * Asks which sessions of this range have ended. A session has not ended as long as its range cannot be sure of it.
   *
   * @param sessions at most SESSIONS_MAX
   * @return for each, whether it has ended
   */
  CompletableFuture<List<Boolean>> ended(List<Birth> sessions);

  /**
   * Asks for the parts of some groups that this range has.
   *
   * @param groups at most NAMES_MAX
   */
  CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups);

  /**
   * Asks which numbers of this range are over: it has let go of the messages, or has them back. A number is not over as long as the range cannot be sure of it.
   *
   * @param numbers at most NAMES_MAX
   * @return for each, whether it is over
   */
  CompletableFuture<List<Boolean>> over(List<SetAside> numbers);

  /**
   * Stores messages for a group.
   *
   * @param messages an AcceptTransfer, an AppendToGroup without an exchange, or an AppendToGroupOfExchange
   */
  CompletableFuture<Taken> store(SessionCommand messages);

  /**
   * Where the message of a recorded exchange goes for a group.
   *
   * @param pick the number of a shard with durable members; {@linkplain dunlin.transport.Terms.Pick#DELIVERED delivered}, when the message is; 0 without an open record
   * @param birth of the publisher's session; 0 without an open record
   */
  record Picked(long pick, long birth) {}

  /** Adds a pick to the record of an exchange of this range, unless it names a shard with durable members already. Answers what it names then. */
  CompletableFuture<Picked> pick(SessionCommand.PickForGroup pick);
}
