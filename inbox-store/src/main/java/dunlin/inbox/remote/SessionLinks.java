package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.call.NextLink;
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
 * The session tier of another process over one link after another, whichever node leads the sessions. The frontend keeps its connections while there is no
 * link, as long as the next tier compares them in time. Otherwise it ends them, and the next link belongs to its next life.
 */
public final class SessionLinks implements InboxClient, AutoCloseable {
  /*
   * Owner: the links' thread begins and replaces links and lives; any thread calls the present life.
   * Bounds: one link at a time, with the bounds of RemoteInbox. The next begins at once when the tier had attached the frontend by the one before and that has
   *   lasted, as when the sessions are led elsewhere: clients wait for it. Else it begins AGAIN_MILLIS later.
   * Failure: without a link calls wait, as RemoteInbox says. Connections of a life are given up when no tier has compared them for KEPT_MILLIS since a
   *   link was lost, and none is connected then: that is how long a tier waits for frontends after a start. While a tier is connected, SessionLinks waits
   *   for it and looks again every LOOK_AGAIN_MILLIS, since no other node can serve the clients. A link that cannot be begun counts as lost.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SessionLinks.class);
  private static final long AGAIN_MILLIS = 200;
  private static final long KEPT_MILLIS = 30_000;
  private static final long LOOK_AGAIN_MILLIS = 1_000;

  /** Opens the way to the session tier. */
  @FunctionalInterface
  public interface Network {
    /** What dials one link, with an opening that says who the frontend is. */
    SendingStream.Dialler to(InboxOpening opening);
  }

  private final String frontend;
  private final KeptConnections connections;
  private final LongSupplier nextLife;
  private final Network network;
  private final Executor owner;
  private final NextLink nextLink;
  private final long keptMillis;
  private final RemoteInbox.Bounds bounds;
  private final CompletableFuture<Void> attached = new CompletableFuture<>();
  private final AtomicLong lost = new AtomicLong();

  /** Completes with the first life. */
  private final CompletableFuture<RemoteInbox> first = new CompletableFuture<>();

  private volatile @Nullable RemoteInbox present; // written by the links' thread
  private volatile boolean reached; // written by the links' thread
  private boolean told; // used by the links' thread: whether it was logged that the tier is out of reach
  private volatile boolean closed;

  /** Counts how often connections began to wait for a tier, and how often they stopped waiting; odd while they wait. */
  private int waits;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param frontend its node id
   * @param connections of the frontend, called on the links' thread
   * @param nextLife ends all connections and answers the life of those to come, larger than all before; on the links' thread
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public SessionLinks(
      String frontend, KeptConnections connections, LongSupplier nextLife, Network network, Executor owner, RemoteInbox.Bounds bounds) {
    this(frontend, connections, nextLife, network, owner, bounds, KEPT_MILLIS, later(owner, AGAIN_MILLIS));
  }

  /**
   * @param keptMillis how long connections are kept without a tier
   * @param again runs tasks on the links' thread AGAIN_MILLIS later
   */
  SessionLinks(
      String frontend,
      KeptConnections connections,
      LongSupplier nextLife,
      Network network,
      Executor owner,
      RemoteInbox.Bounds bounds,
      long keptMillis,
      Executor again) {
    this.frontend = frontend;
    this.connections = connections;
    this.nextLife = nextLife;
    this.network = network;
    this.owner = owner;
    this.bounds = bounds;
    this.keptMillis = keptMillis;
    nextLink = new NextLink(owner, again);
  }

  private static Executor later(Executor owner, long millis) {
    return CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS, owner);
  }

  /** Begins the first link. Completes on the links' thread when the session tier has attached the frontend for the first time. Any thread, once. */
  public CompletableFuture<Void> begin(long life) {
    owner.execute(() -> live(life));
    return attached;
  }

  private void live(long life) {
    if (closed) return;
    var listener = new Present();
    var inbox = new RemoteInbox(frontend, life, connections, owner, bounds, listener);
    listener.inbox = inbox;
    present = inbox;
    reached = false;
    first.complete(inbox);
    dial(inbox);
  }

  private void dial(RemoteInbox inbox) {
    if (closed || present != inbox) return;
    var opening = new InboxOpening(frontend, inbox.life(), nextLink.begins());
    try {
      inbox.dial(network.to(opening));
    } catch (RuntimeException e) {
      LOG.error("A link to the session tier could not be begun", e);
      isLost(inbox, "it could not be begun");
    }
  }

  /** Learns of the links of one life. */
  private final class Present implements RemoteInbox.Listener {
    private @Nullable RemoteInbox inbox;
    private boolean mayHaveConnections;

    @Override
    public void compared() {
      mayHaveConnections = true;
      if (isWaiting()) waits++;
    }

    @Override
    public void attached() {
      if (present == inbox) {
        reached = true;
        told = false;
        nextLink.isTaken();
      }
      attached.complete(null);
    }

    @Override
    public void lost(String reason) {
      var lives = inbox;
      if (lives == null || present != lives) return;
      if (mayHaveConnections && !isWaiting()) {
        waits++;
        giveUpLater(lives, waits, keptMillis);
      }
      isLost(lives, reason);
    }
  }

  private boolean isWaiting() {
    return (waits & 1) == 1;
  }

  private void isLost(RemoteInbox inbox, String reason) {
    if (closed) return;
    reached = false;
    lost.incrementAndGet();
    if (told) LOG.debug("The link to the session tier is lost again: {}", reason);
    else LOG.warn("The link to the session tier is lost: {}", reason);
    told = true;
    nextLink.follows(() -> dial(inbox));
  }

  private void giveUpLater(RemoteInbox inbox, int wait, long millis) {
    later(owner, millis).execute(() -> giveUp(inbox, wait));
  }

  private void giveUp(RemoteInbox inbox, int wait) {
    if (closed || present != inbox || waits != wait) return;
    if (inbox.isConnected()) giveUpLater(inbox, wait, LOOK_AGAIN_MILLIS);
    else end(inbox, "there was no session tier for %d seconds".formatted(keptMillis / 1_000));
  }

  private void end(RemoteInbox inbox, String reason) {
    LOG.warn("All connections of this frontend are ended: {}", reason);
    if (isWaiting()) waits++;
    long life = nextLife.getAsLong();
    live(life);
    inbox.close(reason);
  }

  /** Ends all connections, and begins the next life with a link of its own. Any thread. */
  public void lose(String reason) {
    owner.execute(
        () -> {
          var last = present;
          if (last != null && !closed) end(last, reason);
        });
  }

  /** Whether the session tier has attached the frontend by the present link. Any thread. */
  public boolean isReached() {
    return reached;
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
          if (last != null) last.close("the link to the session tier was closed");
        });
  }

  private <T> CompletableFuture<T> call(Function<InboxClient, CompletableFuture<T>> call) {
    var inbox = present;
    return inbox == null ? CompletableFuture.failedFuture(new StoreException("there is no session tier yet, or not any more")) : call.apply(inbox);
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    return connect(request, new CompletableFuture<>());
  }

  /** Before the first link the client waits for it, for as long as its frontend lets it. */
  @Override
  public CompletableFuture<Connected> connect(Connect request, CompletableFuture<Void> over) {
    var inbox = present;
    return inbox == null ? first.thenCompose(begun -> begun.connect(request, over)) : inbox.connect(request, over);
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

  /** Without a session tier there is no frontend to ask. */
  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    var inbox = present;
    return inbox == null ? CompletableFuture.completedFuture(null) : inbox.settled(displaced);
  }

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
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return call(inbox -> inbox.appendToGroup(group, message, exchange));
  }

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
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    return call(inbox -> inbox.released(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return call(inbox -> inbox.forget(session, birth, packetId));
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return call(inbox -> inbox.delivered(session, packetIds));
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return call(inbox -> inbox.isTakenOver(session));
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
