package dunlin.tiers;

import dunlin.links.LinkService;
import dunlin.transport.lane.LaneLinks;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.IntFunction;

/** The links that one server of this node accepts, and its threads for them; closed together. */
final class AcceptedLinks implements AutoCloseable {
  /*
   * Owner: one thread opens and closes it.
   * Bounds: CALLERS_MAX links of a name.
   * Failure: a frontend that is silent for SILENCE_MAX may have lost its lease, and its clients may go on elsewhere. So its links to leaders that take what clients publish are ended:
   *   nothing that it had sent by then comes behind what the clients publish there (ADR 72). Links to the sessions last longer, as they are the lease of its connections.
   */
  private static final int CALLERS_MAX = 1_024;

  /** A frontend that is cut off disconnects its clients no earlier by default: a lease after it has sent the last heartbeat that was answered, which was an interval ago at most. */
  static final Duration SILENCE_MAX = Duration.ofSeconds(4);

  private final LinkService service;
  private final SecureRandom random = new SecureRandom();
  private final List<LinkService.Accepted> accepted = new ArrayList<>();
  private final List<ExecutorService> threads = new ArrayList<>();

  AcceptedLinks(LinkService service) {
    this.service = service;
  }

  ExecutorService thread(String name) {
    var thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("dunlin-" + name).factory());
    threads.add(thread);
    return thread;
  }

  /** Some threads, each for a part of the lanes. */
  List<ExecutorService> threads(String name, int count) {
    var some = new ArrayList<ExecutorService>(count);
    for (int i = 0; i < count; i++) some.add(thread(name + "-" + i));
    return some;
  }

  void accept(String name, Executor owner, LinkAcceptor.Factory factory) {
    accepted.add(service.accept(name, acceptor(owner, factory), owner));
  }

  /** Accepts links by which frontends send what their clients publish, until the frontend is silent for too long. */
  void acceptPublished(String name, Executor owner, LinkAcceptor.Factory factory) {
    accept(
        name, owner,
        (link, opening) -> {
          link.endInSilence(SILENCE_MAX);
          return factory.open(link, opening);
        });
  }

  /** Accepts links that frontends do not open. */
  void acceptOfLeaders(String name, Executor owner, LinkAcceptor.Factory factory) {
    accepted.add(service.acceptOfLeaders(name, acceptor(owner, factory), owner));
  }

  private LinkAcceptor acceptor(Executor owner, LinkAcceptor.Factory factory) {
    return new LinkAcceptor(random.nextLong(), Link.Settings.defaults(), CALLERS_MAX, owner, System::nanoTime, factory);
  }

  /** Begins with the links of one lane. */
  @FunctionalInterface
  interface Streams {
    /**
     * What handles each link of a lane. A handler keeps what both sides of its link have said to each other, and the next
     * leader's link begins anew.
     */
    Function<Link, Link.Handler> of(int lane, Executor thread);
  }

  /** Accepts the leader's link for the messages of each lane. */
  void acceptLanes(IntFunction<String> name, IntFunction<? extends Executor> threadOf, Streams streams) {
    for (int lane = 0; lane < LinkNames.LANES; lane++) {
      var owner = threadOf.apply(lane);
      acceptOfLeaders(name.apply(lane), owner, LaneLinks.ofLeaders(streams.of(lane, owner)));
    }
  }

  /** Stops accepting links; the open ones go on. */
  void acceptNoMore() {
    accepted.forEach(LinkService.Accepted::acceptNoMore);
  }

  /** Stops accepting links, and ends the open ones, asynchronously. */
  void end() {
    accepted.forEach(LinkService.Accepted::close);
  }

  /**
   * Does the same, and ends the threads after their last tasks. A thread ends itself, behind the frames that are queued
   * for it: a link that receives one of these queues a task too.
   */
  @Override
  public void close() {
    end();
    for (var thread : threads) if (!thread.isShutdown()) thread.execute(thread::shutdown);
  }
}
