package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Messages;
import dunlin.transport.lane.ReceivingStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The receiving end of one link from a dist worker of another process, at a frontend or the owner of inbox shards:
 * delivers the messages, and reports the credit of groups.
 */
public final class RemoteDeliveries implements ReceivingStream.Receiver {
  /*
   * Owner: the thread of the lane, which is also the link's.
   * Bounds: what was reported last is remembered in TOLD places, by the hash code of a group's route and without its name. Two with the same place are
   * reported unnecessarily. If they have the same hash code, a report may be missing until the sender asks, soon. While the link is half full, only what
   * the sender asks for is reported. Groups are reported at the end of a frame, and SERVED_MAX of them wait for it, so that a group with many messages in it is reported once.
   * Failure: a message for a route that is no longer served here is not delivered, as with a local message.
   */
  private static final int TOLD = 4_096;

  private static final int SERVED_MAX = 64;

  /** The bits of a mark in told for the class of a credit, above 0. */
  private static final int SIZE = 63;

  /** Behind a credit, which an earlier sender ignores: whether messages may refer to the body of the one before them. */
  static final int READS_REFERENCES = 1;

  private final Delivery delivery;
  private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
  private final MatchedRoutesCodec groups = new MatchedRoutesCodec();
  private final MatchedRoutes routes = new MatchedRoutes();
  private final FrameWriter out = new FrameWriter();

  /** Groups of the present frame's messages; those of consecutive messages are there once. */
  private final List<Route> served = new ArrayList<>();

  /** The class of the credit that was last reported, with bits of the hash code of the group's route. */
  private final int[] told = new int[TOLD];

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
      for (int i = 0; i < routes.size(); i++) if (routes.get(i).filter().shared()) serve(routes.get(i), stream);
    } finally {
      routes.clear();
    }
  }

  private void serve(Route group, ReceivingStream stream) {
    if (!served.isEmpty() && served.getLast().equals(group)) return;
    if (served.size() == SERVED_MAX) frameEnds(stream);
    served.add(group);
  }

  @Override
  public void frameEnds(ReceivingStream stream) {
    for (Route group : served) tell(group, stream, false);
    served.clear();
  }

  /** The sender asks for the credit of a group. */
  @Override
  public void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException {
    tell(codec.read(in), stream, true);
  }

  /** Reports the credit of a group when it was asked for, when it has changed by more than half, and each time that it is 0 behind a frame. */
  private void tell(Route route, ReceivingStream stream, boolean asked) {
    int credit = Math.max(0, delivery.groupCredit(route));
    int size = Integer.SIZE - Integer.numberOfLeadingZeros(credit);
    int hash = route.hashCode();
    int place = (hash ^ hash >>> 16) & (TOLD - 1);
    int mark = (hash & ~SIZE) | (size + 1);
    if (!asked && ((credit > 0 && told[place] == mark) || !stream.hasRoom())) return;
    told[place] = mark;
    groups.write(out, route);
    out.number(credit).number(READS_REFERENCES);
    stream.tell(out.take());
  }
}
