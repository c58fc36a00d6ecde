package dunlin.transport.link;

import dunlin.transport.link.Link.Handler;
import dunlin.transport.link.LinkFrame.Hello;
import dunlin.transport.link.LinkFrame.Refuse;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The accepting side of links: finds the {@link Link} of a new pipe by the dialler's identity, or begins one. A dialler
 * whose link no longer exists, or was with this side before a restart, is refused, so that its link is lost as well.
 */
public final class LinkAcceptor {
  /*
   * Owner: the given executor, as with Link; its links belong to it, too.
   * Bounds: linksMax links: a further dialler is refused. linksMax pipes without a HELLO: the one that waits longest is
   * closed for a further one, since a live dialler sends HELLO first. A link that is over is forgotten at once.
   * Failure: a pipe that does not begin with a valid HELLO is closed with the reason, and so is one that is silent for
   * awayMax, or one that resumes the link of another caller. Links are not affected.
   *
   * Each link has its own identity, numbered from the acceptor's. Otherwise an old, late HELLO could begin a second
   * link for a dialler whose first one is over, and the dialler would continue with that without noticing.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LinkAcceptor.class);

  /** Creates the handler for a new dialler. */
  public interface Factory {
    /**
     * Returns the handler of a new link. Called on the owner's thread. The link may be used for sending at once; if it
     * is closed or exceeds its bounds in this call, the dialler is refused and the handler is not called.
     *
     * @param opening the dialler's data
     * @throws LinkRefusedException when the dialler is refused: it gets the sentence, and its link is lost
     */
    Handler open(Link link, byte[] opening);
  }

  private final Link.Settings settings;
  private final int linksMax;
  private final Executor owner;
  private final LongSupplier nanoTime;
  private final Factory factory;

  /** Written by the owner only, read by metrics. */
  private final Map<Long, Link> byDialler = new ConcurrentHashMap<>();
  private final IdentityHashMap<Pipe, Link> byPipe = new IdentityHashMap<>();

  /** Pipes without a HELLO, and since when, in nanoseconds. */
  private final IdentityHashMap<Pipe, Long> waiting = new IdentityHashMap<>();

  private long nextIdentity;
  private boolean closed;

  /**
   * Accepts nothing before {@link #connected} is called.
   *
   * @param identity of this side, random for each run; never that of an earlier run
   * @param linksMax links at a time, from 1
   * @param owner runs the links' work at the end of a round, on the owner's thread
   * @param nanoTime a clock as {@link System#nanoTime}
   */
  public LinkAcceptor(long identity, Link.Settings settings, int linksMax, Executor owner, LongSupplier nanoTime, Factory factory) {
    if (linksMax < 1) throw new IllegalArgumentException("linksMax " + linksMax);
    nextIdentity = identity;
    this.settings = settings;
    this.linksMax = linksMax;
    this.owner = owner;
    this.nanoTime = nanoTime;
    this.factory = factory;
  }

  /** A new pipe, which must begin with HELLO. */
  public void connected(Pipe pipe) {
    if (closed) {
      pipe.close();
      return;
    }
    if (waiting.size() == linksMax) {
      long now = nanoTime.getAsLong();
      Comparator<Map.Entry<Pipe, Long>> longest = Comparator.comparingLong(each -> now - each.getValue());
      waiting.entrySet().stream().max(longest).ifPresent(each -> refuse(each.getKey(), false, "Too many pipes wait for their HELLO."));
    }
    waiting.put(pipe, nanoTime.getAsLong());
  }

  /** Receives a frame from a pipe; ignored when the pipe was abandoned. A malformed frame only ends the pipe, and throws no exception. */
  public void arrived(Pipe pipe, byte[] bytes) {
    Link link = byPipe.get(pipe);
    if (link != null) {
      link.arrived(pipe, bytes);
    } else if (waiting.containsKey(pipe)) {
      begin(pipe, bytes);
    }
  }

  private void begin(Pipe pipe, byte[] bytes) {
    try {
      if (!(LinkFrame.decode(bytes, settings.bytesMax()) instanceof Hello hello)) {
        throw new MalformedLinkFrameException("something else than HELLO at first");
      }
      Link link = linkOf(pipe, hello);
      if (link.isLost()) throw new LinkRefusedException("The link was ended as soon as it was opened.");
      if (!link.caller().equals(pipe.caller())) throw new MalformedLinkFrameException("a HELLO for a link of " + link.caller());
      link.checkHello(hello);
      waiting.remove(pipe);
      byPipe.put(pipe, link);
      link.resume(pipe, hello);
    } catch (MalformedLinkFrameException e) {
      refuse(pipe, false, "The dialler has sent " + e.getMessage() + ".");
    } catch (LinkRefusedException e) {
      refuse(pipe, true, String.valueOf(e.getMessage()));
    }
  }

  private Link linkOf(Pipe pipe, Hello hello) throws MalformedLinkFrameException {
    Link known = byDialler.get(hello.identity());
    if (hello.other() != 0 && (known == null || known.identity() != hello.other())) {
      throw new LinkRefusedException("The link is not known, or not any more.");
    }
    return known != null ? known : open(pipe.caller(), hello);
  }

  private Link open(String caller, Hello hello) throws MalformedLinkFrameException {
    if (hello.received() > 0) throw new MalformedLinkFrameException("a confirmation of " + hello.received() + " frames, sent are 0");
    if (byDialler.size() == linksMax) throw new LinkRefusedException("There are " + linksMax + " links already.");
    if (nextIdentity == 0) nextIdentity++;
    var keeper =
        new Link.Keeper() {
          private @Nullable Link link;

          @Override
          public void released(Pipe pipe) {
            byPipe.remove(pipe);
          }

          @Override
          public String caller() {
            return caller;
          }

          @Override
          public void ended() {
            byDialler.remove(hello.identity(), link);
          }
        };
    Link link = Link.accepted(nextIdentity++, hello.identity(), settings, owner, nanoTime, keeper);
    keeper.link = link;
    link.handler(factory.open(link, hello.opening()));
    if (!link.isLost()) byDialler.put(hello.identity(), link);
    return link;
  }

  private void refuse(Pipe pipe, boolean linkToo, String sentence) {
    LOG.warn("A dialler is refused. {}", sentence);
    pipe.send(new Refuse(linkToo, sentence).encode());
    pipe.close();
    waiting.remove(pipe);
  }

  /** A pipe has broken; ignored when it was abandoned. */
  public void broken(Pipe pipe) {
    waiting.remove(pipe);
    Link link = byPipe.get(pipe);
    if (link != null) link.broken(pipe);
  }

  /** Called now and then: loses links whose diallers have been away for too long, and closes silent pipes. */
  public void tick() {
    for (Link link : List.copyOf(byDialler.values())) link.tick();
    long now = nanoTime.getAsLong();
    for (var each : List.copyOf(waiting.entrySet())) {
      if (now - each.getValue() >= settings.awayMax().toNanos()) refuse(each.getKey(), false, "No HELLO came in time.");
    }
  }

  /** Closes all links, without calling their handlers, and all pipes. A later pipe is closed. */
  public void close() {
    closed = true;
    for (Link link : List.copyOf(byDialler.values())) link.close();
    for (Pipe pipe : List.copyOf(waiting.keySet())) pipe.close();
    waiting.clear();
  }

  /** Bytes of payload that all of its links have sent and that are not confirmed. Any thread. */
  public long unconfirmedBytes() {
    return byDialler.values().stream().mapToLong(Link::unconfirmedBytes).sum();
  }

  /** Links that are neither lost nor closed. */
  public int links() {
    return byDialler.size();
  }
}
