package dunlin.transport.lane;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/**
 * Two sides and the pipes between them, on one thread: the schedule decides when frames arrive and tasks run, and a
 * pipe that breaks loses its frames.
 */
public final class Wires {
  public final ArrayDeque<Runnable> senderTasks = new ArrayDeque<>();
  public final ArrayDeque<Runnable> receiverTasks = new ArrayDeque<>();
  private final Random random;
  private final Link.Settings settings;
  private final List<Carried> wires = new ArrayList<>();
  private final LinkAcceptor.Factory accepting;
  private LinkAcceptor acceptor;
  private long identities = 100;
  private long nanos;
  private boolean connects = true;
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

  public Wires(Random random, Function<Link, Link.Handler> accepting) {
    this(random, Link.Settings.defaults(), (link, _) -> accepting.apply(link));
  }

  public Wires(Random random, Link.Settings settings, LinkAcceptor.Factory accepting) {
    this.random = random;
    this.settings = settings;
    this.accepting = accepting;
    this.acceptor = newAcceptor();
    this.dialling = Link.dialling(1, new byte[0], settings, senderTasks::add, () -> nanos, new Ignored());
  }

  private static final class Ignored implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  private LinkAcceptor newAcceptor() {
    return new LinkAcceptor(identities += 1_000, settings, 10, receiverTasks::add, () -> nanos, accepting);
  }

  public Link dial(Link.Handler handler) {
    return dial(new byte[0], handler);
  }

  public Link dial(byte[] opening, Link.Handler handler) {
    dialling = Link.dialling(++identities, opening, settings, senderTasks::add, () -> nanos, handler);
    connect();
    return dialling;
  }

  private void connect() {
    if (!connects) return;
    var pipe = new Carried(dialling, acceptor);
    wires.add(pipe);
    acceptor.connected(pipe.far);
    senderTasks.add(() -> pipe.link.connected(pipe.near));
  }

  /** Runs a task of one side, or delivers a frame. Returns whether there was one. */
  public boolean step() {
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
          for (Carried each : anyOrder()) {
            byte[] frame = each.there.poll();
            if (frame == null) continue;
            each.to.arrived(each.far, frame);
            return true;
          }
        }
        default -> {
          for (Carried each : anyOrder()) {
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

  /** Pipes keep the order of what they carry, and know nothing of each other. */
  private List<Carried> anyOrder() {
    var all = new ArrayList<>(wires);
    Collections.shuffle(all, random);
    return all;
  }

  /** Breaks the current pipe and replaces it. */
  public void breaks() {
    if (wires.isEmpty()) return;
    var last = wires.getLast();
    last.breaks();
    last.to.broken(last.far);
    last.link.broken(last.near);
    if (!last.link.isLost()) connect();
  }

  /** Replaces the receiving side. */
  public void receiverRestarts() {
    acceptor = newAcceptor();
    receiverTasks.clear();
    breaks();
  }

  /** The sender's side gives its link up: it is without a pipe for too long. The receiver's side does not know so yet. */
  public void senderGivesUp() {
    connects = false;
    for (Carried each : List.copyOf(wires)) each.link.broken(each.near);
    nanos += settings.awayMax().toNanos();
    dialling.tick();
    connects = true;
  }

  /** The link that was dialled last. */
  public Link dialled() {
    return dialling;
  }

  public void drain() {
    for (int i = 0; i < 1_000_000; i++) if (!step()) return;
    throw new AssertionError("the two sides do not come to rest");
  }
}
