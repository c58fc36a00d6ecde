package dunlin.inbox.rows;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the log of a session range holds. {@code now} is the leader's wall clock in milliseconds since 1970. */
public sealed interface SessionCommand {
  /** The bounds that hold from here on. */
  record Configure(InboxLimits limits) implements SessionCommand {}

  record Connect(long now, InboxClient.Connect request) implements SessionCommand {}

  record Subscribe(SessionRef session, List<InboxClient.Subscription> subscriptions) implements SessionCommand {}

  record Unsubscribe(SessionRef session, List<TopicFilter> filters) implements SessionCommand {}

  /**
   * @param handed the highest sequence that the connection was handed; what is above was certainly not sent
   */
  record Disconnect(long now, SessionRef session, boolean publishWill, long expirySeconds, long handed)
      implements SessionCommand {}

  /**
   * One message to all durable subscriptions that match it.
   *
   * @param exchange the QoS 2 exchange that is recorded in the same step, or null
   * @param groups the shared subscriptions that this range was picked for
   * @param once whether it is not published again when it is refused: a full inbox then refuses it for itself alone
   * @param fence the number of the connection that ends when it is refused, of which nothing more is taken then; 0 for none
   */
  record Append(
      long now, Publication message, Publication.@Nullable Exchange exchange, List<TopicFilter> groups, boolean once, long fence)
      implements SessionCommand {
    public static Append of(
        long now, Publication message, Publication.@Nullable Exchange exchange, List<TopicFilter> groups, boolean once, long fence) {
      if (exchange != null) checkPacketId(exchange.packetId());
      return new Append(now, message, exchange, List.copyOf(groups), once, fence);
    }
  }

  /**
   * The message of a QoS 2 exchange of a session that another range has: stored once, however often it comes, until it is forgotten.
   *
   * @param birth of the session
   * @param append records no exchange
   */
  record AppendOfExchange(long birth, int packetId, Append append) implements SessionCommand {
    public AppendOfExchange {
      checkPacketId(packetId);
      if (append.exchange() != null) throw new IllegalArgumentException("an exchange that is recorded in two ranges");
    }
  }

  /**
   * Forgets an exchange of a session that another range has, or all of a session that has ended.
   *
   * @param packetId 0 for all
   */
  record ForgetExchange(String tenant, String clientId, long birth, int packetId) implements SessionCommand {
    public ForgetExchange {
      if (packetId != 0) checkPacketId(packetId);
    }
  }

  /**
   * Retained messages to one session, but for those whose topics have changed since they were read.
   *
   * @param from what has come to the inbox from this sequence on may be newer than they
   */
  record AppendTo(long now, SessionRef session, SubscriptionOptions options, long from, List<Publication> retained)
      implements SessionCommand {}

  /** A message to one group: its plain subscribers have got it before. */
  record AppendToGroup(long now, TopicFilter group, Publication message) implements SessionCommand {}

  /**
   * @param expired whether these are done because their Message Expiry Interval has passed, not because the client has them
   */
  record Acknowledge(SessionRef session, long[] sequences, boolean expired) implements SessionCommand {}

  record Received(SessionRef session, long sequence) implements SessionCommand {}

  record Released(SessionRef session, int packetId) implements SessionCommand {
    public Released {
      checkPacketId(packetId);
    }
  }

  /**
   * @param epoch of the connection that left the will
   */
  record WillPublished(String tenant, String clientId, long epoch) implements SessionCommand {}

  /** Ends sessions whose time has come, reports wills that are due, deletes what ended sessions left. */
  record Tick(long now, int stepsMax, int willsMax) implements SessionCommand {}

  /** All connections of lives of a frontend before this one are gone. */
  record FrontendGone(long now, String frontend, long incarnation, int stepsMax) implements SessionCommand {}

  /** A connection is gone. It is unknown in which epoch it had the session, or whether it ever did. */
  record ConnectionGone(long now, String tenant, String clientId, ConnectionId connection) implements SessionCommand {}

  /** Ends a session because an operator wants it to; its connection, if it has one, is ended. */
  record Remove(long now, String tenant, String clientId) implements SessionCommand {}

  /** Hands messages of a group's inbox to its members. */
  record DrainGroup(long now, GroupKey group, int messagesMax) implements SessionCommand {}

  /**
   * Begins to hand messages that wait in a group on to members in another range: up to so many are put aside for it. Does nothing when one has begun and not ended, or when members here
   * can take what waits.
   *
   * @param target the first shard of the other range
   */
  record BeginTransfer(long now, GroupKey group, int target, int messagesMax) implements SessionCommand {}

  /** Takes messages of a group from another range, all or none; once, however often they come. */
  record AcceptTransfer(long now, GroupKey group, long number, List<Publication> messages) implements SessionCommand {}

  /**
   * Lets go of what was put aside for a transfer.
   *
   * @param accepted whether the other range has it; otherwise it waits here again, in front
   */
  record EndTransfer(long now, GroupKey group, long number, boolean accepted) implements SessionCommand {}

  /** Forgets a transfer, of which the other range has let go. */
  record ForgetTransfer(GroupKey group, long number) implements SessionCommand {}

  /** Drops what waits in a group that has no member, in no range. */
  record EndGroup(GroupKey group) implements SessionCommand {}

  /**
   * A command to one of several ranges, for which bounds on what all sessions have together hold beside what the other ranges have.
   *
   * @param sessions durable sessions of the others
   * @param memory bytes that sessions and subscriptions of the others take
   * @param messageBytes bytes of messages in inboxes of the others
   */
  record Beside(long sessions, long memory, long messageBytes, SessionCommand command) implements SessionCommand {
    public Beside {
      if (command instanceof Beside) throw new IllegalArgumentException("a command beside others twice");
    }
  }

  /** A command that cannot be read again would stop every replica, so none is made. */
  private static void checkPacketId(int packetId) {
    if (packetId < 1 || packetId > 65_535) throw new IllegalArgumentException("packet identifier " + packetId);
  }
}
