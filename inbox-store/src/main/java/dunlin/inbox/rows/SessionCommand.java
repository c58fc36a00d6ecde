package dunlin.inbox.rows;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A command in the log of a session range. {@code now} is the leader's wall clock in milliseconds since 1970. */
public sealed interface SessionCommand {
  /** Sets the bounds for this command and all later ones. */
  record Configure(InboxLimits limits) implements SessionCommand {}

  record Connect(long now, InboxClient.Connect request) implements SessionCommand {}

  record Subscribe(SessionRef session, List<InboxClient.Subscription> subscriptions) implements SessionCommand {}

  record Unsubscribe(SessionRef session, List<TopicFilter> filters) implements SessionCommand {}

  /** @param handed the highest sequence that was handed to the connection; higher ones were certainly not sent */
  record Disconnect(long now, SessionRef session, boolean publishWill, long expirySeconds, long handed)
      implements SessionCommand {}

  /**
   * Appends one message for all durable subscriptions that match it.
   *
   * @param exchange the QoS 2 exchange that is recorded in the same step, or that of a will, with which it is recorded; null for none
   * @param origin of the message of an exchange: by this, a repetition is recognised where the record does not help; null in a broker that runs alone, where no will has an exchange
   * @param groups the shared subscriptions that this range was picked for
   * @param once whether the publisher does not repeat it when it is refused; a full inbox then refuses it only for
   *     itself
   * @param fence the number of the publisher's connection if that is closed on a refusal; later messages of it are then
   *     refused as well; 0 for none
   */
  record Append(
      long now, Publication message, Publication.@Nullable Exchange exchange, Terms.@Nullable Origin origin, List<TopicFilter> groups, boolean once, long fence)
      implements SessionCommand {
    public static Append of(
        long now,
        Publication message,
        Publication.@Nullable Exchange exchange,
        Terms.@Nullable Origin origin,
        List<TopicFilter> groups,
        boolean once,
        long fence) {
      if (exchange != null && !exchange.isOfWill()) checkPacketId(exchange.packetId());
      if (exchange != null && exchange.isOfWill() && (!once || origin == null)) throw new IllegalArgumentException("a will that is published again, or has no origin");
      return new Append(now, message, exchange, exchange == null ? null : origin, List.copyOf(groups), once, fence);
    }

    /** The same for other groups. */
    public Append withGroups(List<TopicFilter> others) {
      return new Append(now, message, exchange, origin, others, once, fence);
    }
  }

  /**
   * Appends the message of a QoS 2 exchange whose session is in another range. It is stored once, however often it
   * arrives, until the exchange is forgotten. It is refused when something of a later epoch has come before it. That of a will is never refused so, and is forgotten after some time.
   *
   * @param birth of the session; of no meaning for a will
   * @param epoch of the session's connection that the message came over, or that has left the will
   * @param packetId {@link Publication.Exchange#WILL} for a will
   * @param append the message; it must not record an exchange itself
   */
  record AppendOfExchange(long birth, long epoch, int packetId, Append append) implements SessionCommand {
    public AppendOfExchange {
      if (packetId != Publication.Exchange.WILL) checkPacketId(packetId);
      else if (!append.once()) throw new IllegalArgumentException("a will that is published again");
      if (append.exchange() != null) throw new IllegalArgumentException("an exchange that is recorded in two ranges");
    }
  }

  /**
   * Forgets an exchange of a session in another range. It is refused when something of a later epoch has come before it.
   *
   * @param birth of the session
   * @param epoch of the session's connection that releases the exchange
   */
  record ForgetExchange(String tenant, String clientId, long birth, long epoch, int packetId) implements SessionCommand {
    public ForgetExchange {
      checkPacketId(packetId);
    }
  }

  /** Forgets sessions in other ranges with their exchanges, but for those of which something has come since they were found to be over. */
  record ForgetPublishers(List<ForeignExchanges.Over> over) implements SessionCommand {
    public ForgetPublishers {
      over = List.copyOf(over);
    }
  }

  /**
   * Appends retained messages to one session, except those whose topics have changed since they were read.
   *
   * @param from messages of the inbox from this sequence on may be newer than the retained messages
   */
  record AppendTo(long now, SessionRef session, SubscriptionOptions options, long from, List<Publication> retained)
      implements SessionCommand {}

  /**
   * Appends a message to one group; plain subscribers of its topic have got it before.
   *
   * @param exchange the recorded exchange of the message, which is appended once then; null for none
   */
  record AppendToGroup(long now, TopicFilter group, Publication message, @Nullable OpenExchange exchange) implements SessionCommand {}

  /**
   * Appends a message of an exchange of another range's session to one group. It is stored once until that exchange is forgotten, and only after its record says so.
   *
   * @param birth of the publisher's session
   * @param append with the exchange
   */
  record AppendToGroupOfExchange(long birth, AppendToGroup append) implements SessionCommand {
    public AppendToGroupOfExchange {
      if (append.exchange() == null) throw new IllegalArgumentException("a message without an exchange");
    }
  }

  /**
   * Adds to the record of an exchange that its message goes to the durable members of a group in another range, unless it names some already.
   *
   * @param pick the number of the group's shard in that range
   */
  record PickForGroup(String tenant, String clientId, OpenExchange exchange, TopicFilter group, long pick) implements SessionCommand {}

  /**
   * @param expired whether the messages are removed because their Message Expiry Interval has passed, rather than
   *     acknowledged by the client
   */
  record Acknowledge(SessionRef session, long[] sequences, boolean expired) implements SessionCommand {}

  record Received(SessionRef session, long sequence) implements SessionCommand {}

  record Released(SessionRef session, int packetId) implements SessionCommand {
    public Released {
      checkPacketId(packetId);
    }
  }

  /**
   * Connected sessions have the messages of these exchanges, which a connection with this epoch, or an earlier one, has recorded. The session may have a later owner.
   */
  record Delivered(SessionRef session, List<Integer> packetIds) implements SessionCommand {
    public Delivered {
      packetIds = List.copyOf(packetIds);
      packetIds.forEach(SessionCommand::checkPacketId);
    }
  }

  /** @param epoch of the connection that left the will */
  record WillPublished(String tenant, String clientId, long epoch) implements SessionCommand {}

  /** Ends expired sessions, reports wills that are due, and deletes messages of ended sessions. */
  record Tick(long now, int stepsMax, int willsMax) implements SessionCommand {}

  /** Treats all connections of earlier lives of a frontend as lost. */
  record FrontendGone(long now, String frontend, long incarnation, int stepsMax) implements SessionCommand {}

  /** Treats a connection as lost. It is unknown in which epoch it had the session, or whether it ever had it. */
  record ConnectionGone(long now, String tenant, String clientId, ConnectionId connection) implements SessionCommand {}

  /** Ends a session on an operator's request; its connection, if it has one, is closed. */
  record Remove(long now, String tenant, String clientId) implements SessionCommand {}

  /** Moves messages from a group's inbox to its members. */
  record DrainGroup(long now, GroupKey group, int messagesMax) implements SessionCommand {}

  /**
   * Begins a transfer of messages that wait in a group to members in another range: up to {@code messagesMax} are set
   * aside. Does nothing if a transfer is in progress, or if members in this range can take the messages.
   *
   * @param target the first shard of the other range
   */
  record BeginTransfer(long now, GroupKey group, int target, int messagesMax) implements SessionCommand {}

  /** Accepts messages of a group from another range, all or none. They are stored once, however often they arrive. */
  record AcceptTransfer(long now, GroupKey group, long number, List<Publication> messages) implements SessionCommand {}

  /**
   * Ends a transfer in the source range.
   *
   * @param accepted whether the other range has accepted the messages; otherwise they return to the front of the
   *     group's inbox
   */
  record EndTransfer(long now, GroupKey group, long number, boolean accepted) implements SessionCommand {}

  /** Forgets an accepted transfer that the source range has ended. */
  record ForgetTransfer(GroupKey group, long number) implements SessionCommand {}

  /** Drops the waiting messages of a group that has no members in any range. */
  record EndGroup(GroupKey group) implements SessionCommand {}

  /**
   * Begins the import of a session that is not there, or goes on with it: appends messages to its inbox, and records exchanges. Messages keep their sequences. Those
   * below the sequence of the next message have come before, so a command that comes again appends nothing twice.
   *
   * @param request creates the session. Its connection has the session until the import has ended, and one of the same life of a frontend goes on with it
   * @param received packet identifiers of QoS 2 messages that the client has published and has not released
   * @param messages in the order of their sequences
   */
  record Import(long now, InboxClient.Connect request, List<Integer> received, List<InboxMessage> messages) implements SessionCommand {
    public Import {
      if (!request.durable() || request.will() != null) throw new IllegalArgumentException("an imported session that is not durable, or has a will");
      received = List.copyOf(received);
      received.forEach(SessionCommand::checkPacketId);
      messages = List.copyOf(messages);
      for (InboxMessage each : messages) {
        boolean stored = each.qos() != QoS.AT_MOST_ONCE && (!each.released() || each.qos() == QoS.EXACTLY_ONCE);
        if (!stored || each.sequence() < 1 || each.sequence() > SessionExports.SEQUENCE_MAX) throw new IllegalArgumentException("an imported message with QoS %s and sequence %d".formatted(each.qos(), each.sequence()));
      }
    }
  }

  /**
   * A command together with what the other ranges hold, if there are several: the bounds on all sessions apply to the sums; and with what a limit of its tenant leaves.
   *
   * @param sessions durable sessions of the other ranges
   * @param memory bytes of memory of the sessions and subscriptions of the other ranges
   * @param messageBytes bytes of messages in inboxes of the other ranges
   * @param tenantBytes bytes of messages that all inboxes of the command's tenant may hold in this range; {@link TenantQuota#NONE} without a limit
   */
  record Beside(long sessions, long memory, long messageBytes, long tenantBytes, SessionCommand command) implements SessionCommand {
    public Beside(long sessions, long memory, long messageBytes, SessionCommand command) {
      this(sessions, memory, messageBytes, TenantQuota.NONE, command);
    }

    public Beside {
      if (tenantBytes < 0) throw new IllegalArgumentException("a tenant may have " + tenantBytes + " bytes");
      if (command instanceof Beside) throw new IllegalArgumentException("a Beside command within another one");
    }
  }

  /** A command that cannot be decoded would stop every replica, so it must not be created. */
  private static void checkPacketId(int packetId) {
    if (packetId < 1 || packetId > 65_535) throw new IllegalArgumentException("packet identifier " + packetId);
  }
}
