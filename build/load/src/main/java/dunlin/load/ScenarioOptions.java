package dunlin.load;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Which scenario, and the values of its variables. */
final class ScenarioOptions {
  @Parameters(paramLabel = "FILE", description = "The scenario: a YAML file, or a published one by its name.")
  private String scenario = "";

  @Option(names = "--set", paramLabel = "NAME=VALUE", description = "The value of a variable of the scenario; may come several times.")
  private Map<String, String> variables = new TreeMap<>();

  @Option(names = {"-h", "--host"}, paramLabel = "HOST", description = "The broker, in place of the variable \"host\".")
  private @Nullable String host;

  @Option(names = {"-p", "--port"}, paramLabel = "PORT", description = "Its port, in place of the variable \"port\".")
  private @Nullable Integer port;

  /** A file, or the name of a published one. */
  String scenario() {
    return scenario;
  }

  /** Values by the names of variables, "host" and "port" among them when they were given. */
  Map<String, String> variables() {
    var given = new TreeMap<>(variables);
    if (host != null) given.put("host", host);
    if (port != null) given.put("port", port.toString());
    return given;
  }
}
