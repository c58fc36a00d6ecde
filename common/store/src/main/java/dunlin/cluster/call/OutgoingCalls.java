package dunlin.cluster.call;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** The calls of this node to others, which end when it stops. */
public final class OutgoingCalls implements NodeCalls, AutoCloseable {
  /*
   * Owner: any thread that may block; the lock guards the set of threads that wait for an answer.
   * Failure: closing interrupts the threads that wait for another node, and no others: an interrupt would close
   * a file that is being written. Later calls fail at once.
   */
  private final NodeCalls carrier;

  @GuardedBy("calling")
  private final Set<Thread> calling = new HashSet<>();

  @GuardedBy("calling")
  private boolean closed;

  public OutgoingCalls(NodeCalls carrier) {
    this.carrier = carrier;
  }

  @Override
  public byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException {
    synchronized (calling) {
      if (closed) throw new IOException("closed");
      calling.add(Thread.currentThread());
    }
    try {
      return carrier.call(to, request, deadline);
    } finally {
      synchronized (calling) {
        calling.remove(Thread.currentThread());
        if (closed) Thread.interrupted(); // the interrupt was for this call
      }
    }
  }

  @Override
  public void close() {
    synchronized (calling) {
      closed = true;
      calling.forEach(Thread::interrupt);
    }
  }
}
