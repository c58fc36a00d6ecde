package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.lane.SendingStream;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session tier of another process over one link after another. What a lost link takes along is lost on both sides: the tier treats the
 * frontend's connections as lost, the frontend ends them, and the next link belongs to its next life.
 */
public final class SessionLinks implements InboxClient, AutoCloseable {
  /*
   * Owner: the links' thread begins and replaces them; any thread calls the one that is there.
   * Bounds: one link at a time, with the bounds of RemoteInbox. The next begins AGAIN_MILLIS after the one before was lost.
   * Failure: while there is none, CONNECT waits, and other calls fail at once: their connections are being ended. A link that cannot be begun counts as lost.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SessionLinks.class);
  private static final long AGAIN_MILLIS = 500;

  /** Opens the way to the session tier. */
  @FunctionalInterface
  public interface Network {
    /** What dials one link, with an opening that says who the frontend is. */
    SendingStream.Dialler to(InboxOpening opening);
  }

  private final String frontend;
  private final Connections connections;
  private final LongSupplier nextLife;
  private final Network network;
  private final Executor owner;
  private final Executor later;
  private final RemoteInbox.Bounds bounds;
  private final CompletableFuture<Void> attached = new CompletableFuture<>();
  private final AtomicLong lost = new AtomicLong();
  private volatile @Nullable RemoteInbox present;

  /** Completes with the next link when it is dialled. */
  private volatile CompletableFuture<RemoteInbox> next = new CompletableFuture<>();

  private volatile boolean closed;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param frontend its node id
   * @param connections of the frontend, called on the links' thread
   * @param nextLife ends all connections and answers the life of those to come, larger than all before; on the links' thread
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public SessionLinks(
      String frontend, Connections connections, LongSupplier nextLife, Network network, Executor owner, RemoteInbox.Bounds bounds) {
    this.frontend = frontend;
    this.connections = connections;
    this.nextLife = nextLife;
    this.network = network;
    this.owner = owner;
    this.bounds = bounds;
    later = CompletableFuture.delayedExecutor(AGAIN_MILLIS, TimeUnit.MILLISECONDS, owner);
  }

  /** Begins the first link. Completes on the links' thread when the session tier has attached the frontend for the first time. Any thread, once. */
  public CompletableFuture<Void> begin(long life) {
    owner.execute(() -> dial(life));
    return attached;
  }

  private void dial(long life) {
    if (closed) return;
    var opening = new InboxOpening(frontend, life);
    try {
      var dialled = new RemoteInbox(network.to(opening), opening, connections, owner, bounds, new Present());
      present = dialled;
      next.complete(dialled);
    } catch (RuntimeException e) {
      LOG.error("A link to the session tier could not be begun", e);
      isLost("it could not be begun");
    }
  }

  private final class Present implements RemoteInbox.Listener {
    @Override
    public void attached() {
      attached.complete(null);
    }

    @Override
    public void lost(String reason) {
      isLost(reason);
    }
  }

  private void isLost(String reason) {
    next = new CompletableFuture<>();
    present = null;
    if (closed) return;
    lost.incrementAndGet();
    LOG.warn("The link to the session tier is lost, and with it all connections of this frontend: {}", reason);
    long life = nextLife.getAsLong();
    later.execute(() -> dial(life));
  }

  /** Ends the link as if it was lost: ends all connections, and begins the next link with the next life. Any thread. */
  public void lose(String reason) {
    owner.execute(
        () -> {
          var last = present;
          if (last == null) return;
          last.close();
          isLost(reason);
        });
  }

  /** Links that were lost. Any thread. */
  public long lost() {
    return lost.get();
  }

  /** Ends the link, for the tier as if it was lost. The frontend's connections are left to the frontend. */
  @Override
  public void close() {
    closed = true;
    owner.execute(
        () -> {
          var last = present;
          present = null;
          if (last != null) last.close();
        });
  }

  private <T> CompletableFuture<T> call(Function<InboxClient, CompletableFuture<T>> call) {
    var inbox = present;
    return inbox == null ? CompletableFuture.failedFuture(new StoreException("there is no link to the session tier")) : call.apply(inbox);
  }

  /** Without a link, the client waits for the next one, for as long as its frontend lets it. */
  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    var inbox = present;
    return inbox == null ? next.thenCompose(dialled -> dialled.connect(request)) : inbox.connect(request);
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return call(inbox -> inbox.subscribe(session, subscriptions));
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return call(inbox -> inbox.unsubscribe(session, filters));
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    return call(inbox -> inbox.disconnect(session, publishWill, sessionExpirySeconds));
  }

  /** Without a link there is no frontend to ask. */
  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    var inbox = present;
    return inbox == null ? CompletableFuture.completedFuture(null) : inbox.settled(displaced);
  }

  /** Without a link all connections are treated as lost anyway. */
  @Override
  public void missing(ConnectionId connection) {
    var inbox = present;
    if (inbox != null) inbox.missing(connection);
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return call(inbox -> inbox.append(session, options, from, retained));
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message) {
    return call(inbox -> inbox.appendToGroup(group, message));
  }

  /** Without a link its message comes again to the client's next connection. */
  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    var inbox = present;
    if (inbox != null) inbox.acknowledge(session, sequences);
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return call(inbox -> inbox.received(session, sequence));
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, int packetId) {
    return call(inbox -> inbox.released(session, packetId));
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    return call(inbox -> inbox.fetch(session, fromSequence, messagesMax, bytesMax));
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    return call(InboxClient::statistics);
  }
}
