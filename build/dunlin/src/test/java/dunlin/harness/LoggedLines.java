package dunlin.harness;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Collects what is logged under a name, from a level on, until it is closed. */
public final class LoggedLines implements AutoCloseable {
  private final Logger logger;
  private final @Nullable Level before;
  private final Collector collector = new Collector();

  private static final class Collector extends AppenderBase<ILoggingEvent> {
    private final List<String> lines = new CopyOnWriteArrayList<>();

    @Override
    protected void append(ILoggingEvent event) {
      lines.add(event.getFormattedMessage());
    }
  }

  public LoggedLines(String name, Level from) {
    logger = (Logger) LoggerFactory.getLogger(name);
    before = logger.getLevel();
    logger.setLevel(from);
    collector.start();
    logger.addAppender(collector);
  }

  /** What the audit log has from now on. */
  public static LoggedLines ofAudit() {
    return new LoggedLines("dunlin.audit", Level.INFO);
  }

  /** All so far. */
  public List<String> all() {
    return List.copyOf(collector.lines);
  }

  /** Those so far of an event. */
  public List<String> of(String event) {
    return all().stream().filter(line -> line.startsWith("event=" + event + " ")).toList();
  }

  @Override
  public void close() {
    logger.detachAppender(collector);
    logger.setLevel(before);
  }
}
