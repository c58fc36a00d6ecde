package dunlin.transport.lane;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.LinkRefusedException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Accepts the links of one lane, so that only the newest one delivers: what an earlier one still brings is older than what
 * was sent again over the newest, and would come after it.
 */
public final class LaneLinks implements LinkAcceptor.Factory {
  /*
   * A sender that repeats begins its next link when it has given up the last one, which may not be known here yet. So a
   * link of a caller ends the caller's earlier one.
   *
   * A leader that is deposed may not know so yet, and goes on delivering what it had received, while its callers send the
   * same messages again to the next leader. So links of leaders begin with the term of their leadership: a link of a newer
   * term ends that of an older one, and after it none of an older term is accepted. Two links of a term have the same
   * caller, since a term has one leader.
   *
   * Owner: the thread of the links, which is the lane's.
   * Bounds: a link for each caller. Those that are over are forgotten when there are more than KNOWN_MAX.
   */
  private static final int KNOWN_MAX = 1_024;

  private final Function<Link, Link.Handler> handlers;
  private final boolean led;
  private final Map<String, Newest> newest = new HashMap<>();

  private record Newest(Link link, Link.Handler handler, long term) {}

  private LaneLinks(Function<Link, Link.Handler> handlers, boolean led) {
    this.handlers = handlers;
    this.led = led;
  }

  /** The newest link of each caller. */
  public static LaneLinks ofCallers(Function<Link, Link.Handler> handlers) {
    return new LaneLinks(handlers, false);
  }

  /** The link of the newest leader; with {@link #opening}. */
  public static LaneLinks ofLeaders(Function<Link, Link.Handler> handlers) {
    return new LaneLinks(handlers, true);
  }

  /** The opening of a leader's links. */
  public static byte[] opening(long term) {
    return new FrameWriter().number(term).take();
  }

  @Override
  public Link.Handler open(Link link, byte[] opening) {
    String whose = led ? "" : link.caller();
    long term = led ? term(opening) : 0;
    var before = newest.get(whose);
    if (before != null) {
      if (term < before.term) throw new LinkRefusedException("There is a link of term " + before.term + "; this one is of term " + term + ".");
      end(before);
    }
    var handler = handlers.apply(link);
    if (newest.size() > KNOWN_MAX) newest.values().removeIf(each -> each.link.isLost());
    newest.put(whose, new Newest(link, handler, term));
    return handler;
  }

  private static void end(Newest before) {
    if (before.link.isLost()) return;
    before.link.close();
    before.handler.lost("a newer link of the lane has begun");
  }

  private static long term(byte[] opening) {
    try {
      return new FrameReader(opening).number();
    } catch (MalformedFrameException e) {
      throw new LinkRefusedException("A leader's link begins with its term: " + e.getMessage());
    }
  }
}
