package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OtherUserException;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes connections the owners of sessions. Makes sure that no session keeps an owner that was not told about it. */
final class ConnectCalls {
  /*
   * Owner: any thread; answers come on the applying thread.
   * Bounds: those of Proposals.
   * Failure: if the outcome of a CONNECT is unknown, the client is refused. The session may name the refused connection
   * as its owner all the same. Such a connection is stale, and only this class knows of it.
   */
  private final Proposals proposals;
  private final Frontends frontends;
  private final StaleConnections stale;
  private final InboxSettings.Sums sums;
  private final InstantSource clock;
  private final AtomicInteger waiting = new AtomicInteger();

  ConnectCalls(Proposals proposals, Frontends frontends, StaleConnections stale, InboxSettings.Sums sums, InstantSource clock) {
    this.proposals = proposals;
    this.frontends = frontends;
    this.stale = stale;
    this.sums = sums;
    this.clock = clock;
  }

  /** Whether any CONNECT waits for its answer. */
  boolean isAnyWaiting() {
    return waiting.get() > 0;
  }

  CompletableFuture<Connected> connect(Connect request) {
    var connection = request.connection();
    if (!frontends.isAttached(connection)) return CompletableFuture.failedFuture(notAttached(connection));
    var key = new SessionKey(request.tenant(), request.clientId());
    var connected = new CompletableFuture<Connected>();
    waiting.incrementAndGet();
    var _ =
        connected.whenComplete(
            (_, failure) -> {
              waiting.decrementAndGet();
              if (failure instanceof OutcomeUnknownException) stale.end(key, connection);
            });
    proposals.call(
        new SessionCommand.Connect(clock.millis(), request),
        connected,
        (outcome, _) -> {
          switch (outcome) {
            case Outcome.Connected(var value) -> {
              if (frontends.isAttached(connection)) {
                connected.complete(value);
              } else {
                // The frontend was detached while this call waited, and the range may have ended its connections before
                // this one existed.
                stale.end(key, connection);
                connected.completeExceptionally(notAttached(connection));
              }
            }
            case Outcome.Full _ ->
                connected.completeExceptionally(
                    new QuotaExceededException(QuotaExceededException.Kind.SESSIONS, "durable sessions", sums.sessions()));
            case Outcome.AllFull _ ->
                connected.completeExceptionally(
                    new QuotaExceededException(QuotaExceededException.Kind.MEMORY, "bytes of sessions", sums.memory()));
            case Outcome.OtherUser _ -> connected.completeExceptionally(new OtherUserException(request.clientId()));
            case Outcome.Done _, Outcome.Stale _, Outcome.Fenced _, Outcome.Repeated _, Outcome.Existed _, Outcome.Appended _, Outcome.Imported _, Outcome.Picked _ ->
                connected.completeExceptionally(Proposals.unexpected(outcome));
          }
        });
    return connected;
  }

  private static StoreException notAttached(ConnectionId connection) {
    return new StoreException("frontend %s is not attached with incarnation %d".formatted(connection.frontend(), connection.incarnation()));
  }
}
