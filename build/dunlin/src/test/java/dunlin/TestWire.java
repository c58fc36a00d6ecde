package dunlin;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.ArrayDeque;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Carries the links of one lane over pipes that delay each frame by up to a few hundred microseconds, keep the order,
 * and break now and then.
 */
final class TestWire implements Wire {
  /*
   * Owner: its scheduler; each side is called on its own executor. A pipe that breaks loses its frames; the dialling
   * side makes another one. Each side is notified in the order of its other events.
   */
  private static final int DELAY_MICROS_MAX = 300;
  private static final int FRAMES_BETWEEN_BREAKS = 2_000;

  private final ScheduledExecutorService carrier =
      Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("test-wire").factory());

  private final Random random; // used by the scheduler only
  private final Executor near;
  private final Executor far;
  private final LinkAcceptor acceptor;
  private long identities;

  /**
   * @param near runs the tasks of the dialling side
   * @param far runs the tasks of the accepting side
   */
  TestWire(long seed, Executor near, Executor far, Accepting accepting) {
    random = new Random(seed);
    identities = random.nextLong();
    this.near = near;
    this.far = far;
    acceptor = new LinkAcceptor(random.nextLong(), Link.Settings.defaults(), 8, far, System::nanoTime, accepting::accept);
  }

  @Override
  public Link dial(byte[] opening, Link.Handler handler) {
    var link = Link.dialling(++identities, opening, Link.Settings.defaults(), near, System::nanoTime, handler);
    new Carried(link).connect();
    return link;
  }

  /** One pipe: two directions that break together. */
  private final class Carried {
    private final Link link;
    private final Direction there = new Direction();
    private final Direction back = new Direction();
    private volatile boolean broken;
    private int framesLeft;

    Carried(Link link) {
      this.link = link;
    }

    void connect() {
      carry(
          () -> {
            framesLeft = 1 + random.nextInt(FRAMES_BETWEEN_BREAKS);
            far.execute(() -> acceptor.connected(back));
            near.execute(() -> link.connected(there));
          });
    }

    /** The frames that one side has sent. */
    private final class Direction implements Pipe {
      private final ArrayDeque<byte[]> frames = new ArrayDeque<>(); // used by the scheduler only
      private boolean closes; // used by the scheduler only

      @Override
      public void send(byte[] frame) {
        carry(
            () -> {
              if (broken) return;
              if (--framesLeft <= 0) {
                breaks();
                return;
              }
              frames.add(frame);
              var _ = carrier.schedule(this::arrive, random.nextInt(DELAY_MICROS_MAX), TimeUnit.MICROSECONDS);
            });
      }

      /** Delivers the first frame, whichever frame's delay has ended. */
      private void arrive() {
        byte[] frame = frames.remove();
        if (broken) return;
        if (this == there) far.execute(() -> acceptor.arrived(back, frame));
        else near.execute(() -> link.arrived(there, frame));
        endsWhenEmpty();
      }

      /** What was sent before arrives. */
      @Override
      public void close() {
        carry(
            () -> {
              closes = true;
              endsWhenEmpty();
            });
      }

      private void endsWhenEmpty() {
        if (closes && frames.isEmpty()) breaks();
      }
    }

    private void breaks() {
      if (broken) return;
      broken = true;
      far.execute(() -> acceptor.broken(back));
      near.execute(
          () -> {
            link.broken(there);
            if (!link.isLost()) new Carried(link).connect();
          });
    }
  }

  private void carry(Runnable task) {
    try {
      carrier.execute(task);
    } catch (RejectedExecutionException closed) {
      return; // both sides are being closed
    }
  }

  @Override
  public void close() {
    carrier.shutdownNow();
  }
}
