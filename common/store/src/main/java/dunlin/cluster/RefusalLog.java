package dunlin.cluster;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the operator of this node that another one was refused: at most a line in ten seconds, since the other one asks again. */
final class RefusalLog {
  private static final Logger log = LoggerFactory.getLogger(RefusalLog.class);
  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final AtomicLong nextLine = new AtomicLong(System.nanoTime());

  void refused(String sentence) {
    long now = System.nanoTime();
    long next = nextLine.get();
    if (now - next >= 0 && nextLine.compareAndSet(next, now + LINE_NANOS)) log.warn("{}", sentence);
  }
}
