package dunlin.dist.remote;

import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.ValueDictionary;

/** Encodes the routes on one direction of a link: each once in full, and then by number. */
final class MatchedRoutesCodec {
  private static final int ROUTES_MAX = 1 << 20;

  private final ValueDictionary<Route> dictionary = new ValueDictionary<>(MatchedRoutesCodec::length);

  /** The characters of a route. */
  static int length(Route route) {
    return route.tenant().length() + route.filter().length() + route.shard().name().length();
  }

  void write(FrameWriter out, MatchedRoutes routes) {
    out.number(routes.size());
    for (int i = 0; i < routes.size(); i++) write(out, routes.get(i));
  }

  void write(FrameWriter out, Route route) {
    dictionary.write(out, route, MatchedRoutesCodec::writeInFull);
  }

  static void writeInFull(FrameWriter out, Route route) {
    out.text(route.tenant()).text(route.filter().text()).octet(route.shard().kind().code()).text(route.shard().name());
    out.number(route.incarnation()).number(Integer.toUnsignedLong(route.handle()));
  }

  /** Reads routes and adds them. */
  void read(FrameReader in, MatchedRoutes routes) throws MalformedFrameException {
    int count = in.count(ROUTES_MAX);
    for (int i = 0; i < count; i++) routes.add(read(in));
  }

  Route read(FrameReader in) throws MalformedFrameException {
    return dictionary.read(in, MatchedRoutesCodec::readInFull);
  }

  static Route readInFull(FrameReader in) throws MalformedFrameException {
    String tenant = in.text();
    String text = in.text();
    var filter = TopicFilter.parse(text).orElseThrow(() -> new MalformedFrameException("not a topic filter"));
    return new Route(tenant, filter, shard(in.octet(), in.text()), in.number(), (int) in.number());
  }

  static ShardId shard(int kind, String name) throws MalformedFrameException {
    return new ShardId(kind(kind), name);
  }

  static ShardId.Kind kind(int code) throws MalformedFrameException {
    for (var kind : ShardId.Kind.values()) if (kind.code() == code) return kind;
    throw new MalformedFrameException("shard kind " + code);
  }
}
