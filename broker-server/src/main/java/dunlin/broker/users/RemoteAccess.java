package dunlin.broker.users;

import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The range of users, roles and bans on another node, as a frontend uses it. */
public final class RemoteAccess implements AccessClient, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks). Answers come on the links' thread.
   * Bounds: CallBounds. A copy has one question at a time; changes are bounded by the threads of operators that wait for them. A page puts PAGE_MAX aside.
   * Full: a call fails, and is counted.
   * Failure: with a lost link, what was on its way fails, and it is not known whether a change was made. Later calls wait for the next link.
   */
  private static final int PAGE_MAX = 2 << 20;

  private final CallLinks links;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param frontend its node id
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public RemoteAccess(String frontend, long incarnation, CallLinks.Network network, Executor owner, CallBounds bounds, MeterRegistry registry) {
    links = new CallLinks(AccessCalls.PROTOCOL, frontend, incarnation, network, owner, bounds);
    Gauge.builder("dunlin.auth.users.calls", links, CallLinks::calls)
        .description("Calls to the leader of users, roles and bans that are not answered")
        .register(registry);
    FunctionCounter.builder("dunlin.auth.users.calls.refused", links, CallLinks::refused)
        .description("Calls to the leader of users, roles and bans that failed since too many were not answered")
        .register(registry);
    FunctionCounter.builder("dunlin.auth.users.links.lost", links, CallLinks::lost)
        .description("Links to the leader of users, roles and bans that were lost")
        .register(registry);
  }

  /** Begins the first link. Any thread, once. */
  public void begin() {
    var _ = links.begin();
  }

  @Override
  public CompletableFuture<AccessResult> change(AccessChange change) {
    return links.call(AccessCalls.encode(change), 0, AccessCalls::decodeResult);
  }

  @Override
  public CompletableFuture<AccessPage> changes(long base, long since) {
    return links.call(AccessCalls.encode(base, since), PAGE_MAX, AccessCalls::decodePage);
  }

  /** Ends the link; what is not answered fails. */
  @Override
  public void close() {
    links.close();
  }
}
