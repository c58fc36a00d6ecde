package dunlin.testkit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Copies lines of Logback. Loaded only where that is the binding of SLF4J. */
final class LogbackLines implements AutoCloseable {
  /*
   * Owner: any thread that logs; the cluster attaches and detaches it.
   * Bounds: keeps nothing.
   */
  private static final Set<String> EVENTS = Set.of("dunlin.events", "dunlin.audit");

  private final List<Logger> attachedTo;
  private final Copies copies;

  private LogbackLines(LoggerContext logging, Copies copies) {
    Logger all = logging.getLogger("dunlin");
    this.copies = copies;
    attachedTo = Stream.concat(Stream.of(all), EVENTS.stream().map(logging::getLogger).filter(each -> !each.isAdditive())).toList();
    copies.setContext(logging);
    copies.start();
    attachedTo.forEach(each -> each.addAppender(copies));
  }

  /**
   * Begins to copy lines.
   *
   * @param node the number of the node that the calling thread belongs to, or null
   */
  static AutoCloseable to(Consumer<BrokerEvent> to, Supplier<@Nullable Integer> node) {
    return new LogbackLines((LoggerContext) LoggerFactory.getILoggerFactory(), new Copies(to, node));
  }

  @Override
  public void close() {
    attachedTo.forEach(each -> each.detachAppender(copies));
    copies.stop();
  }

  private static final class Copies extends UnsynchronizedAppenderBase<ILoggingEvent> {
    private final Consumer<BrokerEvent> to;
    private final Supplier<@Nullable Integer> node;

    Copies(Consumer<BrokerEvent> to, Supplier<@Nullable Integer> node) {
      this.to = to;
      this.node = node;
    }

    @Override
    protected void append(ILoggingEvent line) {
      if (!line.getLevel().isGreaterOrEqual(Level.WARN) && !EVENTS.contains(line.getLoggerName())) return;
      Integer from = node.get();
      if (from == null) return;
      to.accept(new BrokerEvent.Line(line.getInstant(), from, org.slf4j.event.Level.valueOf(line.getLevel().toString()), line.getLoggerName(), line.getFormattedMessage()));
    }
  }
}
