package dunlin.links;

import dunlin.transport.link.Link;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** The threads of links in a test, and whatever else it has to close. */
final class LinkThreads {
  private final List<AutoCloseable> opened = new ArrayList<>();

  /** One side of a link. */
  static final class Side implements Link.Handler {
    final List<Integer> received = new CopyOnWriteArrayList<>();
    final CompletableFuture<String> lost = new CompletableFuture<>();

    @Override
    public void received(byte[] frame) {
      received.add(ByteBuffer.wrap(frame).getInt());
    }

    @Override
    public void lost(String reason) {
      lost.complete(reason);
    }
  }

  <T extends AutoCloseable> T closing(T each) {
    opened.add(each);
    return each;
  }

  ExecutorService thread() {
    var thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("links-of-a-test").factory());
    opened.add(thread::shutdownNow);
    return thread;
  }

  static <T> T on(ExecutorService thread, Callable<T> work) {
    try {
      return thread.submit(work).get(1, TimeUnit.MINUTES);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static void until(Callable<Boolean> condition) {
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(condition);
  }

  /** Sends numbered frames of different lengths. */
  static void send(ExecutorService thread, Link link, int from, int to) {
    on(
        thread,
        () -> {
          for (int i = from; i < to; i++) link.send(ByteBuffer.allocate(4 + i % 300).putInt(i).array());
          return true;
        });
  }

  void close() throws Exception {
    for (var each : opened.reversed()) each.close();
  }
}
