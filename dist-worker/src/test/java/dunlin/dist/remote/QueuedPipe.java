package dunlin.dist.remote;

import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** One direction of a pipe in one thread, whose frames arrive when the test runs its tasks. */
record QueuedPipe(Executor tasks, Consumer<byte[]> to) implements Pipe {
  /** Connects a link that is dialling with an acceptor. */
  static void connect(Link link, LinkAcceptor acceptor, Executor tasks) {
    var ends = new Pipe[2];
    ends[0] = new QueuedPipe(tasks, frame -> acceptor.arrived(ends[1], frame));
    ends[1] = new QueuedPipe(tasks, frame -> link.arrived(ends[0], frame));
    acceptor.connected(ends[1]);
    tasks.execute(() -> link.connected(ends[0]));
  }

  @Override
  public void send(byte[] frame) {
    tasks.execute(() -> to.accept(frame));
  }

  @Override
  public void close() {}
}
