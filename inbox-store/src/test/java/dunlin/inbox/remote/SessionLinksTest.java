package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.SessionRef;
import dunlin.store.StoreException;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A frontend whose links to the session tier are lost: when it keeps its connections, and when it gives them up. */
class SessionLinksTest {
  private static final long FIRST_LIFE = 7;
  private static final long KEPT_MILLIS = 1_000;
  private static final long LONG_MILLIS = 3_600_000;

  /** COMPARING and COMPARED. */
  private static final byte[] COMPARES = {7, 9};

  private static final byte[] ATTACHED = {6};
  private static final SessionRef SESSION = new SessionRef("t", "c", 1);

  private final ExecutorService owner = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory());
  private final AtomicInteger lives = new AtomicInteger();

  /** The links that were dialled, in their order. */
  private final List<Dialled> dialled = Collections.synchronizedList(new ArrayList<>());

  /** Whether a tier accepts them. */
  private volatile boolean connects;

  private record Dialled(InboxOpening opening, Link link, Link.Handler handler) {}

  private final LinkAcceptor acceptor =
      new LinkAcceptor(1_000, Link.Settings.defaults(), 10, owner, System::nanoTime, (_, _) -> new Ignoring());

  private static final class Ignoring implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  private SessionLinks links(long keptMillis) {
    return links(keptMillis, owner);
  }

  /** @param again runs what is to be done after the pause between two links */
  private SessionLinks links(long keptMillis, Executor again) {
    SessionLinks.Network network =
        opening ->
            handler -> {
              var link = Link.dialling(dialled.size() + 1L, opening.encode(), Link.Settings.defaults(), owner, System::nanoTime, handler);
              if (connects) connect(link);
              dialled.add(new Dialled(opening, link, handler));
              return link;
            };
    return new SessionLinks(
        "one", new NoConnections(), () -> FIRST_LIFE + lives.incrementAndGet(), network, owner, RemoteInbox.Bounds.defaults(1_000), keptMillis, again);
  }

  private void connect(Link link) {
    var pipes = new Pipe[2];
    pipes[0] = pipe(frame -> acceptor.arrived(pipes[1], frame));
    pipes[1] = pipe(frame -> link.arrived(pipes[0], frame));
    acceptor.connected(pipes[1]);
    owner.execute(() -> link.connected(pipes[0]));
  }

  private interface Arrives {
    void at(byte[] frame);
  }

  private Pipe pipe(Arrives arrives) {
    return new Pipe() {
      @Override
      public void send(byte[] frame) {
        owner.execute(() -> arrives.at(frame));
      }

      @Override
      public void close() {}
    };
  }

  @AfterEach
  void close() {
    owner.shutdownNow();
  }

  private Dialled awaitLink(int number) {
    await().atMost(Duration.ofMinutes(1)).until(() -> dialled.size() >= number);
    return dialled.get(number - 1);
  }

  private void onOwner(Runnable task) throws Exception {
    owner.submit(task).get(1, TimeUnit.MINUTES);
  }

  private void tierSays(Dialled link, byte[] frame) throws Exception {
    onOwner(() -> link.handler().received(frame));
  }

  /** As a link that is lost tells its handler. */
  private void loses(Dialled link) throws Exception {
    onOwner(() -> link.handler().lost("the test says so"));
  }

  private void awaitLives(int number) {
    await().atMost(Duration.ofMinutes(1)).until(() -> lives.get() == number);
  }

  @Test
  void theNextLinkBelongsToTheSameLife() throws Exception {
    var links = links(LONG_MILLIS);
    var attached = links.begin(FIRST_LIFE);
    var first = awaitLink(1);
    assertThat(first.opening()).isEqualTo(new InboxOpening("one", FIRST_LIFE, 1));
    tierSays(first, COMPARES);
    tierSays(first, ATTACHED);
    attached.get(1, TimeUnit.MINUTES);
    var waiting = links.received(SESSION, 1);

    loses(first);

    assertThat(awaitLink(2).opening()).isEqualTo(new InboxOpening("one", FIRST_LIFE, 2));
    assertThat(links.lost()).isEqualTo(1);
    assertThat(waiting).isNotDone();
    assertThat(lives).hasValue(0);
  }

  /** The sessions are led elsewhere then, and clients wait for the link to the next leader. */
  @Test
  void theNextLinkBeginsAtOnceOnlyWhenTheOneBeforeHasLasted() throws Exception {
    var pauses = new ArrayDeque<Runnable>(); // the owner's
    var links = links(LONG_MILLIS, pauses::add);
    var _ = links.begin(FIRST_LIFE);
    tierSays(awaitLink(1), COMPARES);
    tierSays(awaitLink(1), ATTACHED);
    loses(awaitLink(1));
    onOwner(() -> {});
    assertThat(dialled).as("the first one was lost too soon").hasSize(1);
    onOwner(() -> passAll(pauses));
    var second = awaitLink(2);

    tierSays(second, COMPARES);
    tierSays(second, ATTACHED);
    onOwner(() -> passAll(pauses));
    loses(second);

    assertThat(awaitLink(3).opening()).isEqualTo(new InboxOpening("one", FIRST_LIFE, 3));
    onOwner(() -> assertThat(pauses).isEmpty());
    loses(awaitLink(3));
    onOwner(() -> {});
    assertThat(dialled).as("no tier had attached the frontend by the third one").hasSize(3);
  }

  private static void passAll(ArrayDeque<Runnable> pauses) {
    while (!pauses.isEmpty()) pauses.remove().run();
  }

  @Test
  void aLifeThatNoTierComparesInTimeIsGivenUp() throws Exception {
    var links = links(KEPT_MILLIS);
    var _ = links.begin(FIRST_LIFE);
    tierSays(awaitLink(1), COMPARES);
    var call = links.received(SESSION, 1);
    loses(awaitLink(1));
    loses(awaitLink(2));

    awaitLives(1);

    await().atMost(Duration.ofMinutes(1)).until(() -> dialled.getLast().opening().incarnation() == FIRST_LIFE + 1);
    assertThat(dialled.getLast().opening().link()).isEqualTo(dialled.size());
    onOwner(() -> {});
    assertThat(call).isCompletedExceptionally();
    assertThat(links.received(SESSION, 2)).as("it waits for the tier in the next life").isNotDone();
  }

  @Test
  void aLifeThatIsComparedInTimeGoesOn() throws Exception {
    var links = links(KEPT_MILLIS);
    var _ = links.begin(FIRST_LIFE);
    tierSays(awaitLink(1), COMPARES);
    loses(awaitLink(1));
    tierSays(awaitLink(2), COMPARES);

    await().during(Duration.ofMillis(2 * KEPT_MILLIS)).atMost(Duration.ofMinutes(1)).until(() -> lives.get() == 0);
    loses(awaitLink(2));
    awaitLives(1);
  }

  @Test
  void aTierThatIsConnectedIsWaitedFor() throws Exception {
    var links = links(KEPT_MILLIS);
    var _ = links.begin(FIRST_LIFE);
    tierSays(awaitLink(1), COMPARES);
    connects = true;
    loses(awaitLink(1));
    var second = awaitLink(2);
    await().atMost(Duration.ofMinutes(1)).until(() -> owner.submit(second.link()::isConnected).get());

    await().during(Duration.ofMillis(2 * KEPT_MILLIS)).atMost(Duration.ofMinutes(1)).until(() -> lives.get() == 0);
    connects = false;
    loses(second);
    awaitLives(1);
  }

  @Test
  void aLifeThatHadNoConnectionsIsNotGivenUp() throws Exception {
    var links = links(1);
    var _ = links.begin(FIRST_LIFE);
    var connecting = links.connect(new Connect("t", "c", "", new ConnectionId("one", FIRST_LIFE, 1), false, true, 5, null));
    for (int i = 1; i <= 3; i++) loses(awaitLink(i));

    assertThat(awaitLink(4).opening().incarnation()).isEqualTo(FIRST_LIFE);
    assertThat(lives).hasValue(0);
    assertThat(connecting).as("it was never sent").isNotDone();
  }

  @Test
  void aLifeThatIsEndedFailsWhatWaitsAndAnotherOneBegins() throws Exception {
    var links = links(LONG_MILLIS);
    var _ = links.begin(FIRST_LIFE);
    tierSays(awaitLink(1), COMPARES);
    var call = links.received(SESSION, 1);

    links.lose("the lease is lost");

    assertThat(awaitLink(2).opening()).isEqualTo(new InboxOpening("one", FIRST_LIFE + 1, 2));
    onOwner(() -> {});
    assertThat(call.handle((_, failure) -> failure).join()).isInstanceOf(StoreException.class).hasMessageContaining("the lease is lost");
    assertThat(awaitLink(1).link().isLost()).isTrue();
    assertThat(links.lost()).isZero();
  }

  @Test
  void aLinkThatCannotBeBegunIsBegunAgain() throws Exception {
    var failing = new AtomicInteger(2);
    SessionLinks.Network network =
        opening ->
            handler -> {
              if (failing.getAndDecrement() > 0) throw new IllegalStateException("no certificate");
              var link = Link.dialling(1, opening.encode(), Link.Settings.defaults(), owner, System::nanoTime, handler);
              dialled.add(new Dialled(opening, link, handler));
              return link;
            };
    var links =
        new SessionLinks("one", new NoConnections(), () -> FIRST_LIFE + lives.incrementAndGet(), network, owner, RemoteInbox.Bounds.defaults(1_000));
    var _ = links.begin(FIRST_LIFE);

    assertThat(awaitLink(1).opening()).isEqualTo(new InboxOpening("one", FIRST_LIFE, 3));
    assertThat(links.lost()).isEqualTo(2);
    links.close();
    onOwner(() -> {});
    assertThat(links.received(SESSION, 1)).isCompletedExceptionally();
  }

  /** A frontend without connections. */
  private static final class NoConnections implements KeptConnections {
    @Override
    public void comparing() {}

    @Override
    public CompletableFuture<List<Long>> missing(List<Owner> owners) {
      return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public void compared() {}

    @Override
    public void push(ConnectionId connection, InboxMessage message) {}

    @Override
    public void behind(ConnectionId connection) {}

    @Override
    public void displaced(ConnectionId connection) {}

    @Override
    public void dismissed(ConnectionId connection) {}

    @Override
    public CompletableFuture<Void> settled(ConnectionId connection) {
      return CompletableFuture.completedFuture(null);
    }
  }
}
