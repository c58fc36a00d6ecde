package dunlin.transport.lane;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/**
 * Two sides and the pipes between them, in one thread: what a pipe carries arrives when the schedule says so, and a pipe that breaks takes along what
 * it carries. Each side's tasks run when it has its turn.
 */
final class Wires {
  private static final Link.Settings LINK = Link.Settings.defaults();

  final ArrayDeque<Runnable> senderTasks = new ArrayDeque<>();
  final ArrayDeque<Runnable> receiverTasks = new ArrayDeque<>();
  private final Random random;
  private final List<Carried> wires = new ArrayList<>();
  private final Function<Link, Link.Handler> accepting;
  private LinkAcceptor acceptor;
  private long identities = 100;
  private Link dialling;

  /** Both directions of one pipe. */
  private static final class Carried {
    final ArrayDeque<byte[]> there = new ArrayDeque<>();
    final ArrayDeque<byte[]> back = new ArrayDeque<>();
    boolean broken;
    final Link link;
    final LinkAcceptor to;

    final Pipe near =
        new Pipe() {
          @Override
          public void send(byte[] frame) {
            if (!broken) there.add(frame);
          }

          @Override
          public void close() {
            breaks();
          }
        };

    final Pipe far =
        new Pipe() {
          @Override
          public void send(byte[] frame) {
            if (!broken) back.add(frame);
          }

          @Override
          public void close() {}
        };

    Carried(Link link, LinkAcceptor to) {
      this.link = link;
      this.to = to;
    }

    void breaks() {
      broken = true;
      there.clear();
    }
  }

  Wires(Random random, Function<Link, Link.Handler> accepting) {
    this.random = random;
    this.accepting = accepting;
    this.acceptor = newAcceptor();
    this.dialling = Link.dialling(1, new byte[0], LINK, senderTasks::add, () -> 0, new Ignored());
  }

  private static final class Ignored implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  private LinkAcceptor newAcceptor() {
    return new LinkAcceptor(identities += 1_000, LINK, 10, receiverTasks::add, () -> 0, (link, _) -> accepting.apply(link));
  }

  Link dial(Link.Handler handler) {
    dialling = Link.dialling(++identities, new byte[0], LINK, senderTasks::add, () -> 0, handler);
    connect();
    return dialling;
  }

  private void connect() {
    var pipe = new Carried(dialling, acceptor);
    wires.add(pipe);
    acceptor.connected(pipe.far);
    senderTasks.add(() -> pipe.link.connected(pipe.near));
  }

  /** One thing happens: a task of a side, or a frame arrives. Answers whether there was anything. */
  boolean step() {
    int kinds = random.nextInt(4);
    for (int i = 0; i < 4; i++) {
      switch ((kinds + i) % 4) {
        case 0 -> {
          if (!senderTasks.isEmpty()) {
            senderTasks.remove().run();
            return true;
          }
        }
        case 1 -> {
          if (!receiverTasks.isEmpty()) {
            receiverTasks.remove().run();
            return true;
          }
        }
        case 2 -> {
          for (Carried each : List.copyOf(wires)) {
            byte[] frame = each.there.poll();
            if (frame == null) continue;
            each.to.arrived(each.far, frame);
            return true;
          }
        }
        default -> {
          for (Carried each : List.copyOf(wires)) {
            byte[] frame = each.broken ? null : each.back.poll();
            if (frame == null) continue;
            each.link.arrived(each.near, frame);
            return true;
          }
        }
      }
    }
    return false;
  }

  /** The pipe in use breaks, and another one takes its place. */
  void breaks() {
    if (wires.isEmpty()) return;
    var last = wires.getLast();
    last.breaks();
    last.to.broken(last.far);
    last.link.broken(last.near);
    if (!last.link.isLost()) connect();
  }

  /** The receiving side is another one. */
  void receiverRestarts() {
    acceptor = newAcceptor();
    receiverTasks.clear();
    breaks();
  }

  void drain() {
    for (int i = 0; i < 1_000_000; i++) if (!step()) return;
    throw new AssertionError("the two sides never rest");
  }
}
