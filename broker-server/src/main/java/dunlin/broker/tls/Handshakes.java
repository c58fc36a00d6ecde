package dunlin.broker.tls;

import dunlin.broker.limit.AddressCounts;
import dunlin.broker.limit.FairLines;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import java.net.InetAddress;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The TLS handshakes of all listeners: how many there may be at once, and the threads on which their costly steps run, which are the choice and check of
 * certificates and signatures. Addresses take turns.
 */
public final class Handshakes implements AutoCloseable {
  /*
   * A handshake asks for a thread before it computes anything (it chooses its certificate) and again for its signature. So what is left to the event
   * loop, the exchange of keys, comes no faster than these threads let handshakes pass, whatever a storm brings.
   *
   * Owner: event loops begin and end handshakes and hand over steps; the threads run them.
   * Bounds: atOnceMax handshakes, perAddressMax of an address; atOnceMax steps that wait. SslHandler hands over one step of a connection at a time.
   * Failure: a handshake without room is refused. A step without room closes its connection, which is one of the address with the most waiting steps;
   *   only connections whose handshake has ended can bring it so far.
   */
  private final int atOnceMax;
  private final AtomicInteger atOnce = new AtomicInteger();
  private final AddressCounts addresses;
  private final FairLines<Step> lines;
  private final ThreadPoolExecutor threads;

  private record Step(Runnable task, Channel connection) {}

  public Handshakes(HandshakeSettings settings, MeterRegistry meters) {
    atOnceMax = settings.atOnceMax();
    addresses = new AddressCounts(settings.perAddressMax());
    lines = new FairLines<>(settings.atOnceMax());
    AtomicInteger names = new AtomicInteger();
    // A turn in its queue stands for an element of the lines, so the queue has their bound.
    threads =
        new ThreadPoolExecutor(
            settings.threads(),
            settings.threads(),
            0,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread thread = new Thread(task, "dunlin-tls-" + names.getAndIncrement());
              thread.setDaemon(true);
              return thread;
            });
    Gauge.builder("dunlin.tls.handshakes", atOnce, AtomicInteger::get).description("TLS handshakes of listeners that have begun and not ended").register(meters);
    Gauge.builder("dunlin.tls.waiting", lines, FairLines::size).description("Steps of TLS handshakes that wait for a thread").register(meters);
  }

  /**
   * Counts a handshake; false if there are too many, in all or of its address.
   *
   * @param address the client's; null for none
   */
  public boolean begin(@Nullable InetAddress address) {
    if (atOnce.incrementAndGet() > atOnceMax || (address != null && !addresses.add(address))) {
      atOnce.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Must be called once for each handshake that has begun. */
  public void ended(@Nullable InetAddress address) {
    atOnce.decrementAndGet();
    if (address != null) addresses.remove(address);
  }

  /**
   * Runs a step of a handshake on one of the threads when it is the turn of its address.
   *
   * @param source number of the address
   * @throws RejectedExecutionException if there is no room for it
   */
  public void run(long source, Runnable task, Channel connection) {
    Step step = new Step(task, connection);
    Step without = lines.offer(source, step);
    if (without == null) threads.execute(this::next);
    else if (without.equals(step)) throw new RejectedExecutionException("too many steps of TLS handshakes wait");
    else close(without.connection()); // its turn is that of the new one
  }

  private void next() {
    Step step = lines.poll();
    if (step != null) step.task().run();
  }

  /** Without a word by TLS, for which the connection would wait for its step. */
  private static void close(Channel connection) {
    ChannelHandlerContext first = connection.pipeline().firstContext();
    if (first == null) connection.close();
    else first.close();
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
