package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.propose.UnansweredCalls;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** The session tier of a node of a cluster: serves the ranges of sessions that the node leads, each by a server of its own for one leadership. */
public final class SessionTier {
  /*
   * Meters are sums over the ranges that are led here. They are there while the node leads one.
   *
   * Owner: each leadership has a thread that opens and closes its server.
   * Bounds: a server for each range that is led here. They share the bound of UnansweredCalls.
   * Failure: an error of a range only affects its own sessions.
   */
  private final InboxSettings settings;
  private final InstantSource clock;
  private final MeterRegistry registry;
  private final Tracer tracer;
  private final UnansweredCalls calls;
  private final List<InboxMeters.Shown> shown = new CopyOnWriteArrayList<>();

  @GuardedBy("this")
  private @Nullable InboxMeters meters;

  /** @param tracer notes what becomes of messages, for operators */
  public SessionTier(InboxSettings settings, InstantSource clock, MeterRegistry registry, Tracer tracer) {
    this.settings = settings;
    this.clock = clock;
    this.registry = registry;
    this.tracer = tracer;
    calls = new UnansweredCalls(settings);
  }

  /**
   * Serves a range for one leadership of this node, until the server is closed; {@link InboxServer#start} starts serving.
   *
   * @param others the other ranges, by number
   */
  public synchronized InboxServer lead(SessionReplica replica, Map<Integer, ? extends OtherRange> others, InboxRoutes routes, WillPublisher wills) {
    var counted = meters;
    if (counted == null) {
      meters = counted = new InboxMeters(registry, tracer);
      counted.show(shown, calls);
    }
    var server = new InboxServer(List.of(replica), settings, calls, others, InboxServer.FRONTEND_LEASE, routes, wills, clock, counted, tracer, this::left);
    shown.add(server.shown());
    return server;
  }

  private synchronized void left(InboxServer server) {
    shown.remove(server.shown());
    if (!shown.isEmpty() || meters == null) return;
    meters.close();
    meters = null;
  }
}
