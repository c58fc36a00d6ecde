package dunlin.dist.remote;

import dunlin.dist.route.Route;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuotaException;
import dunlin.model.ShardId;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Calls and answers between processes. A call is a kind byte, then the fields in the order in which the records declare them. Routes are written in full, as
 * lanes do with those that they name for the first time.
 */
final class RouteCallCodec {
  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "routes 2",
          "dist tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the dist tier is not known")),
          StoreException::isForNextLeader,
          new Quotas());

  private static final int ADD = 1;
  private static final int REMOVE = 2;
  private static final int REMOVE_BEFORE = 3;
  private static final int PAGE = 4;
  private static final int PAGE_OF = 5;

  private RouteCallCodec() {}

  /** Its kind, and the limit. */
  private static final class Quotas implements CallProtocol.Kinds {
    @Override
    public byte @Nullable [] encode(Throwable failure) {
      return failure instanceof RouteQuotaException quota ? new FrameWriter().octet(quota.kind().code()).number(quota.limit()).take() : null;
    }

    @Override
    public RuntimeException decode(byte[] failure) throws MalformedFrameException {
      var in = new FrameReader(failure);
      int code = in.octet();
      var kind = RouteQuotaException.Kind.of(code).orElseThrow(() -> new MalformedFrameException("kind " + code + " of a quota"));
      return ended(in, new RouteQuotaException(kind, in.number()));
    }
  }

  static byte[] encode(RouteCall call) {
    var out = new FrameWriter();
    switch (call) {
      case RouteCall.Add(var route) -> MatchedRoutesCodec.writeInFull(out.octet(ADD), route);
      case RouteCall.Remove(var route) -> MatchedRoutesCodec.writeInFull(out.octet(REMOVE), route);
      case RouteCall.RemoveBefore(var shard, var incarnation) ->
          out.octet(REMOVE_BEFORE).octet(shard.kind().code()).text(shard.name()).number(incarnation);
      case RouteCall.Page(var kind, var from) -> writeBegin(out.octet(PAGE).octet(kind.code()), from);
      case RouteCall.PageOf(var shard, var from) -> writeBegin(out.octet(PAGE_OF).octet(shard.kind().code()).text(shard.name()), from);
    }
    return out.take();
  }

  static RouteCall decode(byte[] call) throws MalformedFrameException {
    var in = new FrameReader(call);
    int kind = in.octet();
    return ended(
        in,
        switch (kind) {
          case ADD -> new RouteCall.Add(MatchedRoutesCodec.readInFull(in));
          case REMOVE -> new RouteCall.Remove(MatchedRoutesCodec.readInFull(in));
          case REMOVE_BEFORE -> new RouteCall.RemoveBefore(MatchedRoutesCodec.shard(in.octet(), in.text()), in.number());
          case PAGE -> new RouteCall.Page(MatchedRoutesCodec.kind(in.octet()), readBegin(in));
          case PAGE_OF -> new RouteCall.PageOf(MatchedRoutesCodec.shard(in.octet(), in.text()), readBegin(in));
          default -> throw new MalformedFrameException("kind " + kind + " of a call");
        });
  }

  static byte[] encode(RoutePage page) {
    var out = new FrameWriter().number(page.routes().size());
    for (Route route : page.routes()) MatchedRoutesCodec.writeInFull(out, route);
    writeBegin(out, page.next());
    return out.take();
  }

  static RoutePage decodePage(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    List<Route> routes = new ArrayList<>();
    for (int left = in.countWithin(); left > 0; left--) routes.add(MatchedRoutesCodec.readInFull(in));
    return ended(in, new RoutePage(routes, readBegin(in)));
  }

  static byte[] encode(long count) {
    return new FrameWriter().number(count).take();
  }

  static Long decodeCount(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, in.number());
  }

  static byte[] nothing() {
    return new byte[0];
  }

  static @Nullable Void decodeNothing(byte[] answer) throws MalformedFrameException {
    if (answer.length > 0) throw new MalformedFrameException(answer.length + " bytes where none are due");
    return null;
  }

  /** Where a page begins, if that is not at the beginning of all. */
  private static void writeBegin(FrameWriter out, byte @Nullable [] begin) {
    out.octet(begin == null ? 0 : 1);
    if (begin != null) out.bytes(begin);
  }

  private static byte @Nullable [] readBegin(FrameReader in) throws MalformedFrameException {
    int flag = in.octet();
    if (flag > 1) throw new MalformedFrameException("flag " + flag);
    return flag == 1 ? in.bytes() : null;
  }

  private static <T> T ended(FrameReader in, T value) throws MalformedFrameException {
    if (in.hasMore()) throw new MalformedFrameException("bytes behind the last field");
    return value;
  }
}
