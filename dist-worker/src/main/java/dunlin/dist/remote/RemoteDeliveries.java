package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Messages;
import dunlin.transport.lane.ReceivingStream;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The receiving end of one link from a dist worker of another process, at a frontend or the owner of inbox shards:
 * delivers the messages, and reports the credit of groups.
 */
public final class RemoteDeliveries implements ReceivingStream.Receiver {
  /*
   * Owner: the thread of the lane, which is also the link's.
   * Bounds: the reported credit of TOLD_MAX groups is remembered; with more groups, some reports are repeated
   * unnecessarily.
   * Failure: a message for a route that is no longer served here is not delivered, as with a local message.
   */
  private static final int TOLD_MAX = 4_096;

  private final Delivery delivery;
  private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
  private final MatchedRoutesCodec groups = new MatchedRoutesCodec();
  private final MatchedRoutes routes = new MatchedRoutes();
  private final FrameWriter out = new FrameWriter();

  /** The class of the credit that was last reported, by the group's route. */
  private final Map<Route, Integer> told = new HashMap<>();

  /** Null for deliveries that recognise a repetition themselves. */
  private final @Nullable Repetitions repetitions;

  /**
   * To inbox shards, whose log recognises what comes again.
   *
   * @param delivery called on the lane's thread
   */
  public RemoteDeliveries(Delivery delivery) {
    this(delivery, null);
  }

  /**
   * To a frontend.
   *
   * @param delivery called on the lane's thread
   * @param repetitions of all lanes to these deliveries
   */
  public RemoteDeliveries(Delivery delivery, @Nullable Repetitions repetitions) {
    this.delivery = delivery;
    this.repetitions = repetitions;
  }

  @Override
  public void take(Messages.Sent sent, FrameReader in, ReceivingStream.Receipt receipt, ReceivingStream stream)
      throws MalformedFrameException {
    try {
      codec.read(in, routes);
      receipt.expect();
      var origin = sent.terms().origin();
      if (origin == null || repetitions == null) delivery.deliver(sent.message(), routes, receipt, receipt);
      else repetitions.deliver(delivery, sent.message(), origin, routes, receipt);
      for (int i = 0; i < routes.size(); i++) if (routes.get(i).filter().shared()) tell(routes.get(i), stream);
    } finally {
      routes.clear();
    }
  }

  /** The sender asks for the credit of a group. */
  @Override
  public void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException {
    Route group = codec.read(in);
    told.remove(group);
    tell(group, stream);
  }

  /** Reports the credit of a group when it has changed by more than half, and each time that it is 0. */
  private void tell(Route route, ReceivingStream stream) {
    int credit = Math.max(0, delivery.groupCredit(route));
    int size = Integer.SIZE - Integer.numberOfLeadingZeros(credit);
    if (told.size() == TOLD_MAX) told.clear();
    Integer before = told.put(route, size);
    if (credit > 0 && before != null && before == size) return;
    groups.write(out, route);
    out.number(credit);
    stream.tell(out.take());
  }
}
