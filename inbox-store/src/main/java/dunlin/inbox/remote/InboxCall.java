package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a frontend says to the session tier: the calls of {@link InboxClient}, and what it answers itself. Both sides count the calls that are
 * answered, from 1; answers name these numbers.
 */
sealed interface InboxCall {
  /** A call that is answered. */
  sealed interface Asking extends InboxCall {}

  record Connect(InboxClient.Connect request) implements Asking {}

  record Subscribe(SessionRef session, List<InboxClient.Subscription> subscriptions) implements Asking {}

  record Unsubscribe(SessionRef session, List<TopicFilter> filters) implements Asking {}

  record Disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) implements Asking {}

  record Settled(ConnectionId displaced) implements Asking {}

  record Append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) implements Asking {}

  record AppendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) implements Asking {}

  record Received(SessionRef session, long sequence) implements Asking {}

  record Released(SessionRef session, long birth, int packetId) implements Asking {}

  record Forget(SessionRef session, long birth, int packetId) implements Asking {}

  record Delivered(SessionRef session, List<Integer> packetIds) implements Asking {}

  record IsTakenOver(SessionRef session) implements Asking {}

  record Fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) implements Asking {}

  record Statistics() implements Asking {}

  record Acknowledge(SessionRef session, long[] sequences) implements InboxCall {}

  record Missing(ConnectionId connection) implements InboxCall {}

  /**
   * The answer to {@link TierMessage.AskSettled}.
   *
   * @param number of the question, which both sides count from 1
   */
  record HasSettled(long number) implements InboxCall {}

  /**
   * The answer to {@link TierMessage.AskMissing}.
   *
   * @param number of the question, which both sides count from 1
   * @param connections that are not there
   */
  record AreMissing(long number, long[] connections) implements InboxCall {}
}
