package dunlin.node;

import dunlin.broker.Frontend;
import dunlin.dist.Deliveries;
import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import dunlin.dist.DistClient;
import dunlin.dist.route.RouteClient;
import dunlin.inbox.InboxClient;
import dunlin.inbox.server.InboxServer;
import dunlin.retain.RetainClient;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;

/** The connections between the tiers of a node: direct calls, or a transport. */
public interface TierConnections extends AutoCloseable {
  /** Where the lanes of the dist tier serve their destinations. Called once, first. */
  DeliveryThreads deliveryThreads(MeterRegistry meters);

  /** The dist tier, as this node's frontend uses it. */
  DistClient dist(DistClient dist);

  /** The routes as the session tier of this node announces them. */
  RouteClient routesOfSessions(RouteClient dist);

  /** The retain tier as the frontend of this node uses it. */
  RetainClient retain(RetainClient retain);

  /**
   * Connects lanes to the delivery on the frontend's event loops.
   *
   * @param delivery to be called on the event loop of the lane's number
   */
  Deliveries onLoops(Frontend frontend, Delivery delivery);

  /** Connects lanes to the delivery to inbox shards. */
  Deliveries onShards(Delivery delivery);

  /** The session tier, as this node's frontend uses it. */
  InboxClient sessions(InboxServer inbox, Frontend frontend);

  /** Attaches this node's frontend to the session tier; completes when it is attached. Called once, when the frontend is open. */
  CompletableFuture<Void> attach(InboxServer inbox, Frontend frontend);

  /** Closes the transport, before the tiers are closed. */
  @Override
  void close();

  /** Direct calls within one process: lanes belong to event loops, which call all tiers. */
  static TierConnections direct() {
    return new TierConnections() {
      @Override
      public DeliveryThreads deliveryThreads(MeterRegistry meters) {
        return DeliveryThreads.inline();
      }

      @Override
      public DistClient dist(DistClient dist) {
        return dist;
      }

      @Override
      public RouteClient routesOfSessions(RouteClient dist) {
        return dist;
      }

      @Override
      public RetainClient retain(RetainClient retain) {
        return retain;
      }

      @Override
      public Deliveries onLoops(Frontend frontend, Delivery delivery) {
        return Deliveries.of(delivery);
      }

      @Override
      public Deliveries onShards(Delivery delivery) {
        return Deliveries.of(delivery);
      }

      @Override
      public InboxClient sessions(InboxServer inbox, Frontend frontend) {
        return inbox;
      }

      @Override
      public CompletableFuture<Void> attach(InboxServer inbox, Frontend frontend) {
        return inbox.attach(frontend.identity().nodeId(), frontend.life(0), frontend.connections());
      }

      @Override
      public void close() {}
    };
  }
}
