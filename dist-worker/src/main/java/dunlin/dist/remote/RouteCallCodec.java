package dunlin.dist.remote;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteRangeClient.Sums;
import dunlin.dist.route.RouteResult;
import dunlin.model.ShardId;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
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
          "routes 4",
          "dist tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the dist tier is not known")),
          StoreException::isForNextLeader,
          new Refusals());

  private static final int ADD = 1;
  private static final int REMOVE = 2;
  private static final int REMOVE_BEFORE = 3;
  private static final int PAGE = 4;
  private static final int PAGE_OF = 5;
  private static final int MATCH = 6;
  private static final int SUMS = 7;

  private static final int QUOTA = 1;
  private static final int MOVED = 2;

  private static final int UNCHANGED = 0;
  private static final int FOUND = 1;

  private RouteCallCodec() {}

  /** A quota has its kind and the limit, another epoch the range as it is now. */
  private static final class Refusals implements CallProtocol.Kinds {
    @Override
    public byte @Nullable [] encode(Throwable failure) {
      return switch (failure) {
        case RouteQuotaException quota -> new FrameWriter().octet(QUOTA).octet(quota.kind().code()).number(quota.limit()).take();
        case WrongEpochException moved -> new FrameWriter().octet(MOVED).bytes(moved.toBytes()).take();
        default -> null;
      };
    }

    @Override
    public RuntimeException decode(byte[] failure) throws MalformedFrameException {
      var in = new FrameReader(failure);
      int kind = in.octet();
      return ended(
          in,
          switch (kind) {
            case QUOTA -> quota(in);
            case MOVED -> moved(in);
            default -> throw new MalformedFrameException("kind " + kind + " of a refusal");
          });
    }

    private static RuntimeException quota(FrameReader in) throws MalformedFrameException {
      int code = in.octet();
      var kind = RouteQuotaException.Kind.of(code).orElseThrow(() -> new MalformedFrameException("kind " + code + " of a quota"));
      return new RouteQuotaException(kind, in.number());
    }

    private static RuntimeException moved(FrameReader in) throws MalformedFrameException {
      try {
        return WrongEpochException.parse(in.bytes());
      } catch (IllegalStateException e) {
        throw new MalformedFrameException("an epoch that cannot be read: " + e.getMessage());
      }
    }
  }

  static byte[] encode(RouteCall call) {
    var out = new FrameWriter();
    switch (call) {
      case RouteCall.Add(var epoch, var route) -> MatchedRoutesCodec.writeInFull(out.octet(ADD).number(epoch), route);
      case RouteCall.Remove(var epoch, var route) -> MatchedRoutesCodec.writeInFull(out.octet(REMOVE).number(epoch), route);
      case RouteCall.RemoveBefore(var epoch, var shard, var incarnation, var from) ->
          write(out.octet(REMOVE_BEFORE).number(epoch), shard).number(incarnation).bytes(from);
      case RouteCall.Page(var epoch, var kind, var from) -> out.octet(PAGE).number(epoch).octet(kind.code()).bytes(from);
      case RouteCall.PageOf(var epoch, var shard, var from) -> write(out.octet(PAGE_OF).number(epoch), shard).bytes(from);
      case RouteCall.Match(var epoch, var tenant, var topic, var known, var after) ->
          write(out.octet(MATCH).number(epoch).text(tenant).bytes(topic), known).bytes(after);
      case RouteCall.AskSums() -> out.octet(SUMS);
    }
    return out.take();
  }

  private static FrameWriter write(FrameWriter out, ShardId shard) {
    return out.octet(shard.kind().code()).text(shard.name());
  }

  static RouteCall decode(byte[] call) throws MalformedFrameException {
    var in = new FrameReader(call);
    int kind = in.octet();
    return ended(in, kind == SUMS ? new RouteCall.AskSums() : decode(kind, in.number(), in));
  }

  private static RouteCall decode(int kind, long epoch, FrameReader in) throws MalformedFrameException {
    return switch (kind) {
      case ADD -> new RouteCall.Add(epoch, MatchedRoutesCodec.readInFull(in));
      case REMOVE -> new RouteCall.Remove(epoch, MatchedRoutesCodec.readInFull(in));
      case REMOVE_BEFORE -> new RouteCall.RemoveBefore(epoch, MatchedRoutesCodec.shard(in.octet(), in.text()), in.number(), in.bytes());
      case PAGE -> new RouteCall.Page(epoch, MatchedRoutesCodec.kind(in.octet()), in.bytes());
      case PAGE_OF -> new RouteCall.PageOf(epoch, MatchedRoutesCodec.shard(in.octet(), in.text()), in.bytes());
      case MATCH -> new RouteCall.Match(epoch, in.text(), in.bytes(), readSignature(in), in.bytes());
      default -> throw new MalformedFrameException("kind " + kind + " of a call");
    };
  }

  static byte[] encode(RoutePage page) {
    var out = new FrameWriter();
    writeRoutes(out, page.routes());
    writeNext(out, page.next());
    return out.take();
  }

  static RoutePage decodePage(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, new RoutePage(readRoutes(in), readNext(in)));
  }

  static byte[] encode(RouteResult.Purged purged) {
    var out = new FrameWriter().number(purged.removed());
    writeNext(out, purged.next());
    return out.take();
  }

  static RouteResult.Purged decodePurged(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, new RouteResult.Purged(in.number(), readNext(in)));
  }

  private static FrameWriter write(FrameWriter out, MatchSignature signature) {
    return out.number(signature.server()).number(signature.routes()).number(signature.hash());
  }

  private static MatchSignature readSignature(FrameReader in) throws MalformedFrameException {
    return new MatchSignature(in.number(), in.number(), in.number());
  }

  static byte[] encode(RouteMatch match) {
    var out = new FrameWriter();
    switch (match) {
      case RouteMatch.Unchanged() -> out.octet(UNCHANGED);
      case RouteMatch.Found(var signature, var routes, var next) -> {
        write(out.octet(FOUND), signature);
        writeRoutes(out, routes);
        writeNext(out, next);
      }
    }
    return out.take();
  }

  static RouteMatch decodeMatch(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    int kind = in.octet();
    return ended(
        in,
        switch (kind) {
          case UNCHANGED -> new RouteMatch.Unchanged();
          case FOUND -> new RouteMatch.Found(readSignature(in), readRoutes(in), readNext(in));
          default -> throw new MalformedFrameException("kind " + kind + " of a match");
        });
  }

  private static void writeRoutes(FrameWriter out, List<Route> routes) {
    out.number(routes.size());
    for (Route route : routes) MatchedRoutesCodec.writeInFull(out, route);
  }

  private static List<Route> readRoutes(FrameReader in) throws MalformedFrameException {
    var routes = new ArrayList<Route>();
    for (int left = in.countWithin(); left > 0; left--) routes.add(MatchedRoutesCodec.readInFull(in));
    return routes;
  }

  static byte[] encode(Sums sums) {
    return new FrameWriter().number(sums.routes()).number(sums.memory()).take();
  }

  static Sums decodeSums(byte[] answer) throws MalformedFrameException {
    var in = new FrameReader(answer);
    return ended(in, new Sums(in.number(), in.number()));
  }

  static byte[] nothing() {
    return new byte[0];
  }

  static @Nullable Void decodeNothing(byte[] answer) throws MalformedFrameException {
    if (answer.length > 0) throw new MalformedFrameException(answer.length + " bytes where none are due");
    return null;
  }

  /** Where the next page begins, if there is one. */
  private static void writeNext(FrameWriter out, byte @Nullable [] next) {
    out.octet(next == null ? 0 : 1);
    if (next != null) out.bytes(next);
  }

  private static byte @Nullable [] readNext(FrameReader in) throws MalformedFrameException {
    int flag = in.octet();
    if (flag > 1) throw new MalformedFrameException("flag " + flag);
    return flag == 1 ? in.bytes() : null;
  }

  private static <T> T ended(FrameReader in, T value) throws MalformedFrameException {
    if (in.hasMore()) throw new MalformedFrameException("bytes behind the last field");
    return value;
  }
}
