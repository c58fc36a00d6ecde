package dunlin.inbox.server;

import dunlin.inbox.remote.InboxCalls;
import dunlin.inbox.remote.InboxOpening;
import dunlin.inbox.remote.RemoteConnections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The session tier as frontends of other processes come to it: a link is the lease of one life of a frontend. */
public final class FrontendLinks implements InboxCalls.Tier {
  /*
   * Owner: the links' thread.
   * Bounds: one link for each frontend: a later life ends that of an earlier one. As many frontends as InboxServer attaches.
   * Failure: a life that cannot be attached has its link ended, upon which the frontend comes with the next. What cannot be detached is treated as lost by the next start.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FrontendLinks.class);

  private final InboxServer server;
  private final Executor owner;

  /** By the frontends' names. */
  private final Map<String, Attached> present = new HashMap<>();

  private record Attached(InboxOpening frontend, RemoteConnections connections) {}

  /** @param owner runs tasks on the links' thread, soon */
  public FrontendLinks(InboxServer server, Executor owner) {
    this.server = server;
    this.owner = owner;
  }

  @Override
  public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections connections) {
    var attaches = new Attached(frontend, connections);
    var earlier = present.get(frontend.frontend());
    if (earlier == null || earlier.frontend.incarnation() < frontend.incarnation()) {
      present.put(frontend.frontend(), attaches);
      if (earlier != null) owner.execute(earlier.connections::close);
    }
    var attached = server.attach(frontend.frontend(), frontend.incarnation(), connections);
    var _ =
        attached.whenComplete(
            (_, failure) -> {
              if (failure == null) return;
              LOG.warn("Frontend {} could not be attached in life {}: {}", frontend.frontend(), frontend.incarnation(), failure.getMessage());
              owner.execute(
                  () -> {
                    connections.close();
                    lose(attaches);
                  });
            });
    return new InboxCalls.Attachment(server, attached);
  }

  @Override
  public void detach(InboxOpening frontend, RemoteConnections connections, String reason) {
    LOG.warn("Frontend {} is gone in life {}: {}", frontend.frontend(), frontend.incarnation(), reason);
    lose(new Attached(frontend, connections));
  }

  private void lose(Attached gone) {
    var frontend = gone.frontend();
    if (!present.remove(frontend.frontend(), gone)) return; // another link is its lease
    var _ =
        server
            .detach(frontend.frontend(), frontend.incarnation())
            .whenComplete(
                (_, failure) -> {
                  if (failure == null) return;
                  LOG.warn("Connections of frontend {} are treated as lost by the next start only: {}", frontend.frontend(), failure.getMessage());
                });
  }
}
