package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A session tier that writes down what it is called, and answers when the test says so. */
final class ScriptedInbox implements InboxClient {
  final List<InboxCall> calls = new ArrayList<>();

  /** In the order of the calls that are answered. */
  final List<CompletableFuture<Object>> answers = new ArrayList<>();

  /** The answer to every question for them, which is not written down then. */
  @Nullable CompletableFuture<Statistics> statistics;

  private <T> CompletableFuture<T> made(InboxCall call) {
    calls.add(call);
    var answer = new CompletableFuture<Object>();
    answers.add(answer);
    @SuppressWarnings("unchecked") // the test gives what the call answers
    var typed = (CompletableFuture<T>) answer;
    return typed;
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    return made(new InboxCall.Connect(request));
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return made(new InboxCall.Subscribe(session, subscriptions));
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return made(new InboxCall.Unsubscribe(session, filters));
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    if (sessionExpirySeconds == 13) throw new IllegalStateException("thirteen");
    return made(new InboxCall.Disconnect(session, publishWill, sessionExpirySeconds));
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    return made(new InboxCall.Settled(displaced));
  }

  @Override
  public void missing(ConnectionId connection) {
    calls.add(new InboxCall.Missing(connection));
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return made(new InboxCall.Append(session, options, from, retained));
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return made(new InboxCall.AppendToGroup(group, message, exchange));
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    if (sequences[0] == 13) throw new IllegalStateException("thirteen");
    calls.add(new InboxCall.Acknowledge(session, sequences));
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return made(new InboxCall.Received(session, sequence));
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    return made(new InboxCall.Released(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return made(new InboxCall.Forget(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return made(new InboxCall.Delivered(session, packetIds));
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return made(new InboxCall.IsTakenOver(session));
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    return made(new InboxCall.Fetch(session, fromSequence, messagesMax, bytesMax));
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    return statistics != null ? statistics : made(new InboxCall.Statistics());
  }
}
