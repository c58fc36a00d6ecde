package dunlin.admin.operate;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** The levels of loggers, by JMX: {@code dunlin:type=Logging,node=<id>}. Only in a process that runs the node alone. */
@Description("The levels of loggers")
public interface LoggingMXBean {
  /**
   * @param level the level that was set for it; empty when it has that of its parent
   * @param effective the level that it has
   */
  record LoggerLevel(String name, String level, String effective) {}

  @Description("All loggers, in the order of their names")
  List<LoggerLevel> getLevels();

  @Description("Sets the level of a logger until the process ends. Answers the level that it has then")
  LoggerLevel setLevel(
      @Description("Name of the logger: a package or a class that logs, or ROOT") String name,
      @Description("OFF, ERROR, WARN, INFO, DEBUG or TRACE; INHERITED for that of its parent") String level);
}
