package dunlin.dist.remote;

import dunlin.transport.call.CallOpening;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A caller, a tier and the pipe between them, in one thread: each step something happens that could, and a pipe that breaks takes along what it carries. */
final class CallPipes {
  private static final Link.Settings LINK = Link.Settings.defaults();

  final ArrayDeque<Runnable> callerTasks = new ArrayDeque<>();
  final ArrayDeque<Runnable> tierTasks = new ArrayDeque<>();
  private final ArrayDeque<Runnable> there = new ArrayDeque<>();
  private final ArrayDeque<Runnable> back = new ArrayDeque<>();
  private final Random random;
  private final LinkAcceptor.Factory factory;
  private LinkAcceptor acceptor;
  private long identities = 100;
  private @Nullable Link link;
  private @Nullable Carried carried;

  /** A pipe that breaks at both ends at once. */
  private final class Carried {
    final Link from;
    final LinkAcceptor to;
    final Pipe near = pipe(frame -> there.add(() -> arrivesThere(frame)));
    final Pipe far = pipe(frame -> back.add(() -> arrivesBack(frame)));
    boolean broken;

    Carried(Link from, LinkAcceptor to) {
      this.from = from;
      this.to = to;
    }

    private void arrivesThere(byte[] frame) {
      if (!broken) to.arrived(far, frame);
    }

    private void arrivesBack(byte[] frame) {
      if (!broken) from.arrived(near, frame);
    }
  }

  private static Pipe pipe(Consumer<byte[]> carries) {
    return new Pipe() {
      @Override
      public void send(byte[] frame) {
        carries.accept(frame);
      }

      @Override
      public void close() {}
    };
  }

  CallPipes(Random random, LinkAcceptor.Factory factory) {
    this.random = random;
    this.factory = factory;
    acceptor = newAcceptor();
  }

  private LinkAcceptor newAcceptor() {
    return new LinkAcceptor(identities += 1_000, LINK, 10, tierTasks::add, () -> 0, factory);
  }

  SendingStream.Dialler network(CallOpening opening) {
    return handler -> {
      var dialled = Link.dialling(++identities, opening.encode(), LINK, callerTasks::add, () -> 0, handler);
      connect(dialled);
      return dialled;
    };
  }

  private void connect(Link dialled) {
    var pipe = new Carried(dialled, acceptor);
    link = dialled;
    carried = pipe;
    acceptor.connected(pipe.far);
    callerTasks.add(() -> dialled.connected(pipe.near));
  }

  /** The pipe breaks, and another one takes its place. */
  void breaks() {
    var pipe = carried;
    if (pipe == null) return;
    pipe.broken = true;
    pipe.to.broken(pipe.far);
    pipe.from.broken(pipe.near);
    if (!pipe.from.isLost()) connect(pipe.from);
  }

  /** The tier is another one, and knows nothing of before. */
  void tierRestarts() {
    acceptor = newAcceptor();
    tierTasks.clear();
    breaks();
  }

  boolean step() {
    var queues = List.of(callerTasks, tierTasks, there, back);
    int from = random.nextInt(queues.size());
    for (int i = 0; i < queues.size(); i++) {
      var next = queues.get((from + i) % queues.size()).poll();
      if (next == null) continue;
      next.run();
      return true;
    }
    return false;
  }

  void drain() {
    for (int i = 0; i < 1_000_000; i++) if (!step()) return;
    throw new AssertionError("the two sides never rest");
  }

  /** The link that was dialled last. */
  Link link() {
    if (link == null) throw new AssertionError("nothing was dialled");
    return link;
  }
}
