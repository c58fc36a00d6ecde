package dunlin.inbox.remote;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A frontend, the session tier and the pipes between them, in one thread: what a pipe carries arrives when the schedule says so, and a pipe that
 * breaks takes along what it carries. Each side's tasks run when it has its turn.
 */
final class InboxWires {
  final ArrayDeque<Runnable> frontendTasks = new ArrayDeque<>();
  final ArrayDeque<Runnable> tierTasks = new ArrayDeque<>();
  private final Random random;
  private final Link.Settings settings;
  private final byte[] opening;
  private final LinkAcceptor.Factory factory;
  private final List<Carried> wires = new ArrayList<>();
  private LinkAcceptor acceptor;
  private long identities = 100;
  private long nanos;
  private boolean connects = true;
  private @Nullable Link dialled;

  /** Both directions of one pipe. */
  private static final class Carried {
    final ArrayDeque<byte[]> there = new ArrayDeque<>();
    final ArrayDeque<byte[]> back = new ArrayDeque<>();
    final Link link;
    final LinkAcceptor to;
    boolean broken;
    final Pipe near = pipe(there);
    final Pipe far = pipe(back);

    Carried(Link link, LinkAcceptor to) {
      this.link = link;
      this.to = to;
    }

    private Pipe pipe(ArrayDeque<byte[]> frames) {
      return new Pipe() {
        @Override
        public void send(byte[] frame) {
          if (!broken) frames.add(frame);
        }

        @Override
        public void close() {}
      };
    }
  }

  InboxWires(Random random, Link.Settings settings, InboxOpening opening, LinkAcceptor.Factory factory) {
    this.random = random;
    this.settings = settings;
    this.opening = opening.encode();
    this.factory = factory;
    acceptor = newAcceptor();
  }

  private LinkAcceptor newAcceptor() {
    return new LinkAcceptor(identities += 1_000, settings, 10, tierTasks::add, () -> nanos, factory);
  }

  Link dial(Link.Handler handler) {
    var link = Link.dialling(++identities, opening, settings, frontendTasks::add, () -> nanos, handler);
    dialled = link;
    connect(link);
    return link;
  }

  /** The frontend's link. */
  Link dialled() {
    if (dialled == null) throw new AssertionError("nothing was dialled");
    return dialled;
  }

  private void connect(Link link) {
    if (!connects) return;
    var pipe = new Carried(link, acceptor);
    wires.add(pipe);
    acceptor.connected(pipe.far);
    frontendTasks.add(() -> link.connected(pipe.near));
  }

  /** One thing happens: a task of a side, or a frame arrives. Answers whether there was anything. */
  boolean step() {
    int kinds = random.nextInt(4);
    for (int i = 0; i < 4; i++) {
      boolean done =
          switch ((kinds + i) % 4) {
            case 0 -> runs(frontendTasks);
            case 1 -> runs(tierTasks);
            case 2 -> arrivesThere();
            default -> arrivesBack();
          };
      if (done) return true;
    }
    return false;
  }

  private static boolean runs(ArrayDeque<Runnable> tasks) {
    var task = tasks.poll();
    if (task != null) task.run();
    return task != null;
  }

  private boolean arrivesThere() {
    for (var each : List.copyOf(wires)) {
      byte[] frame = each.there.poll();
      if (frame == null) continue;
      each.to.arrived(each.far, frame);
      return true;
    }
    return false;
  }

  private boolean arrivesBack() {
    for (var each : List.copyOf(wires)) {
      byte[] frame = each.back.poll();
      if (frame == null) continue;
      each.link.arrived(each.near, frame);
      return true;
    }
    return false;
  }

  /** The pipe in use breaks, and another one takes its place. */
  void breaks() {
    if (wires.isEmpty()) return;
    var last = wires.removeLast();
    last.broken = true;
    last.to.broken(last.far);
    last.link.broken(last.near);
    if (!last.link.isLost()) connect(last.link);
  }

  /** The session tier is another one, and knows nothing of before. */
  void tierRestarts() {
    acceptor = newAcceptor();
    tierTasks.clear();
    breaks();
  }

  /** The pipe in use breaks, and none takes its place. */
  void parts() {
    connects = false;
    breaks();
  }

  /** The same, until both sides have given the other up. */
  void partsForGood() {
    parts();
    nanos += Duration.ofSeconds(20).toNanos();
    acceptor.tick();
    dialled().tick();
  }

  /** Time passes at the tier, where nothing arrives. */
  void tierTicks(int seconds) {
    for (int i = 0; i < seconds; i++) {
      nanos += Duration.ofSeconds(1).toNanos();
      acceptor.tick();
    }
  }

  /** Pipes can be had again. */
  void meetsAgain() {
    connects = true;
  }

  void drain() {
    for (int i = 0; i < 1_000_000; i++) if (!step()) return;
    throw new AssertionError("the two sides never rest");
  }
}
