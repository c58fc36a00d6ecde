package dunlin.dist.remote;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One direction of a pipe, whose frames arrive as tasks of the other side: in one thread, when the test runs them. */
public record QueuedPipe(Executor tasks, Consumer<byte[]> to) implements Pipe {
  /**
   * Dials an acceptor.
   *
   * @param acceptor null when it cannot be reached
   * @param tasks of both sides
   */
  static Link dial(long identity, Link.Settings settings, @Nullable LinkAcceptor acceptor, Executor tasks, LongSupplier nanoTime, Link.Handler handler) {
    var link = Link.dialling(identity, new byte[0], settings, tasks, nanoTime, handler);
    if (acceptor != null) connect(link, tasks, acceptor, tasks);
    return link;
  }

  /**
   * The same between two threads.
   *
   * @param tasks of the dialler
   * @param there of the acceptor
   */
  public static Link dial(
      long identity, Link.Settings settings, LinkAcceptor acceptor, Executor tasks, Executor there, LongSupplier nanoTime, Link.Handler handler) {
    var link = Link.dialling(identity, new byte[0], settings, tasks, nanoTime, handler);
    connect(link, tasks, acceptor, there);
    return link;
  }

  private static void connect(Link link, Executor tasks, LinkAcceptor acceptor, Executor there) {
    var ends = new Pipe[2];
    ends[0] = new QueuedPipe(there, frame -> acceptor.arrived(ends[1], frame));
    ends[1] = new QueuedPipe(tasks, frame -> link.arrived(ends[0], frame));
    there.execute(() -> acceptor.connected(ends[1]));
    tasks.execute(() -> link.connected(ends[0]));
  }

  @Override
  public void send(byte[] frame) {
    tasks.execute(() -> to.accept(frame));
  }

  @Override
  public void close() {}
}
