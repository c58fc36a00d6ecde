package dunlin.admin.operate;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import dunlin.admin.api.Endpoints;
import dunlin.runtime.LogText;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.slf4j.ILoggerFactory;
import org.slf4j.LoggerFactory;

/** The loggers of Logback, which the distribution has. */
public final class LogbackLevels implements LoggingMXBean {
  /*
   * Owner: any thread; Logback's context has its own locks.
   * Bounds: no logger is made here, since one stays for good.
   */
  private static final org.slf4j.Logger log = LoggerFactory.getLogger(LogbackLevels.class);

  private final LoggerContext context;

  private LogbackLevels(LoggerContext context) {
    this.context = context;
  }

  /** Empty when another library logs. */
  public static Optional<LoggingMXBean> find() {
    ILoggerFactory factory = LoggerFactory.getILoggerFactory();
    return factory instanceof LoggerContext logback ? Optional.of(new LogbackLevels(logback)) : Optional.empty();
  }

  @Override
  public List<LoggerLevel> getLevels() {
    return context.getLoggerList().stream().sorted(Comparator.comparing(Logger::getName)).map(LogbackLevels::row).toList();
  }

  private static LoggerLevel row(Logger logger) {
    Level own = logger.getLevel();
    return new LoggerLevel(logger.getName(), own == null ? "" : own.toString(), logger.getEffectiveLevel().toString());
  }

  @Override
  public LoggerLevel setLevel(String name, String level) {
    Logger logger = context.exists(name);
    if (logger == null) throw new IllegalArgumentException("nothing logs as " + LogText.quoted(name));
    if (!Endpoints.LEVELS.contains(level)) throw new IllegalArgumentException("the level is one of " + Endpoints.LEVELS);
    boolean inherited = level.equals("INHERITED");
    if (inherited && name.equals(org.slf4j.Logger.ROOT_LOGGER_NAME)) throw new IllegalArgumentException("ROOT has no parent to inherit its level from");
    logger.setLevel(inherited ? null : Level.valueOf(level));
    log.info("An operator has set the level of {} to {}", name, level);
    return row(logger);
  }
}
