package dunlin.cluster.call;

import dunlin.runtime.LineLimit;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the operator of this node that another one was refused: a line in ten seconds, since the other one asks again. */
public final class RefusalLog {
  private static final Logger log = LoggerFactory.getLogger(RefusalLog.class);

  private final LineLimit lines = new LineLimit(1, Duration.ofSeconds(10), System::nanoTime);

  public void refused(String sentence) {
    if (lines.admits()) log.warn("{}", sentence);
  }
}
