package dunlin.inbox.server;

import dunlin.inbox.remote.InboxCalls;
import dunlin.inbox.remote.InboxOpening;
import dunlin.inbox.remote.RemoteConnections;
import dunlin.store.serve.SharedBarrier;
import dunlin.transport.link.LinkRefusedException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session tier as frontends of other processes come to it: a link is the lease of one life of a frontend, and may be followed by another one of the same
 * life.
 */
public final class FrontendLinks implements InboxCalls.Tier {
  /*
   * Owner: the links' thread.
   * Bounds: one link for each frontend: a later one ends an earlier one, and an earlier one is refused. As many frontends as InboxServer attaches.
   * Failure: when a link is lost, its frontend is detached. When a life cannot be attached, its link is interrupted. A frontend whose link was interrupted
   *   comes with another link; when it does not come in time, its connections are treated as lost. What cannot be detached is treated as lost by the next
   *   start.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FrontendLinks.class);

  private final InboxServer server;
  private final SharedBarrier barrier;
  private final Executor owner;

  /** By the frontends' names. */
  private final Map<String, Attached> present = new HashMap<>();

  private record Attached(InboxOpening frontend, RemoteConnections connections) {}

  /**
   * @param barrier asks for a read barrier of the range, as {@code Replica.readBarrier}
   * @param owner runs tasks on the links' thread, soon
   */
  public FrontendLinks(InboxServer server, Supplier<CompletableFuture<@Nullable Void>> barrier, Executor owner) {
    this.server = server;
    this.barrier = new SharedBarrier(barrier);
    this.owner = owner;
  }

  @Override
  public CompletableFuture<@Nullable Void> proof() {
    return barrier.ask();
  }

  @Override
  public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections connections) {
    var attaches = new Attached(frontend, connections);
    var earlier = present.get(frontend.frontend());
    if (earlier != null && !frontend.isLaterThan(earlier.frontend)) {
      String opened = "link %d of incarnation %d".formatted(frontend.link(), frontend.incarnation());
      throw new LinkRefusedException("The frontend has already begun a later link than " + opened + ".");
    }
    present.put(frontend.frontend(), attaches);
    if (earlier != null) owner.execute(earlier.connections::close);
    var attached = server.resume(frontend.frontend(), frontend.incarnation(), connections);
    var _ =
        attached.whenComplete(
            (_, failure) -> {
              if (failure == null) return;
              LOG.warn("Frontend {}, incarnation {}, could not be attached: {}", frontend.frontend(), frontend.incarnation(), failure.getMessage());
              owner.execute(() -> interrupt(attaches));
            });
    return new InboxCalls.Attachment(server, attached);
  }

  @Override
  public void interrupt(InboxOpening frontend, RemoteConnections connections, String reason) {
    LOG.info("The link to frontend {}, incarnation {}, is interrupted: {}", frontend.frontend(), frontend.incarnation(), reason);
    interrupt(new Attached(frontend, connections));
  }

  private void interrupt(Attached link) {
    link.connections.close();
    if (!present.remove(link.frontend.frontend(), link)) return; // there is a later one
    server.await(link.frontend.frontend(), link.frontend.incarnation(), link.connections);
  }

  @Override
  public void detach(InboxOpening frontend, RemoteConnections connections, String reason) {
    if (!present.remove(frontend.frontend(), new Attached(frontend, connections))) return; // another link is its lease
    LOG.warn("Frontend {}, incarnation {}, is gone: {}", frontend.frontend(), frontend.incarnation(), reason);
    var _ =
        server
            .detach(frontend.frontend(), frontend.incarnation())
            .whenComplete(
                (_, failure) -> {
                  if (failure == null) return;
                  LOG.warn("The connections of frontend {} could not be treated as lost; the next start of the session tier does it: {}", frontend.frontend(), failure.getMessage());
                });
  }
}
