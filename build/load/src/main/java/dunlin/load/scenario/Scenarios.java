package dunlin.load.scenario;

import dunlin.load.plan.Expectation;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Step;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;

/** Reads scenarios: users' files, and published ones by name. */
public final class Scenarios {
  /** The published scenarios, which are included in the tool. */
  public static final List<String> PUBLISHED =
      List.of("ramp", "broadcast", "one-to-one-qos0", "one-to-one-qos1", "wildcards", "shared-fan-in", "population", "reconnect-storm", "offline-queues");

  private static final long FILE_BYTES_MAX = 1_000_000;

  private Scenarios() {}

  /**
   * Reads a scenario; see {@link #find}.
   *
   * @param given values of variables, which override the scenario's own
   * @param loops 0 for one per processor
   */
  public static Plan read(String nameOrFile, Map<String, String> given, List<Expectation> more, int loops) {
    return find(nameOrFile).plan(given, more, loops);
  }

  /**
   * The text of a scenario.
   *
   * @param directory the directory of files that the scenario names
   */
  public record Source(String file, String text, Path directory) {
    public Source {
      if (text.length() > FILE_BYTES_MAX) throw new ScenarioException(file, 0, "a scenario has %,d bytes at most".formatted(FILE_BYTES_MAX), null);
    }

    public Plan plan(Map<String, String> given, List<Expectation> more, int loops) {
      return parse(file, text, directory, given, more, loops);
    }
  }

  /** Finds a file or, when there is none, the published scenario of that name. */
  public static Source find(String nameOrFile) {
    Path file = Path.of(nameOrFile);
    try {
      if (Files.isRegularFile(file)) {
        if (Files.size(file) > FILE_BYTES_MAX) throw new ScenarioException(nameOrFile, 0, "a scenario has %,d bytes at most".formatted(FILE_BYTES_MAX), null);
        return new Source(nameOrFile, Files.readString(file), file.toAbsolutePath().resolveSibling(""));
      }
    } catch (IOException failure) {
      throw new ScenarioException(nameOrFile, 0, "cannot be read", failure);
    }
    if (PUBLISHED.contains(nameOrFile)) return new Source(nameOrFile + ".yaml", published(nameOrFile), Path.of(""));
    throw new ScenarioException(nameOrFile, 0, "there is no such file, and the published scenarios are " + String.join(", ", PUBLISHED), null);
  }

  /** The text of a published scenario. */
  public static String published(String name) {
    try (InputStream in = Scenarios.class.getResourceAsStream("/dunlin/load/scenarios/" + name + ".yaml")) {
      if (in == null) throw new IllegalArgumentException("there is no published scenario " + name);
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new ScenarioException(name, 0, "cannot be read", failure);
    }
  }

  static Plan parse(String file, String text, Path directory, Map<String, String> given, List<Expectation> more, int loops) {
    var variables = new Variables(given);
    variables.usual("host", "127.0.0.1");
    variables.usual("port", "1883");
    var root = new Section(file, "a scenario", compose(file, text), variables, null);
    variables(root, given, variables);
    String name = root.text("name", file);
    var _ = root.text("description");
    Section defaults = root.section("defaults", "a pool");
    List<Pool> pools = pools(root, defaults, directory);
    if (!root.has("phases")) throw root.error(root.line(), "the scenario has no \"phases\"", null);
    List<Step> steps = new PhaseReader(pools).read(root.sections("phases", "a phase", "connect"));
    var expectations = new ArrayList<Expectation>();
    Section expect = root.section("expect", "expect");
    if (expect != null) {
      for (String figure : expect.keys()) expectations.add(expect.at(figure, of -> Expectation.parse(figure, of.needed(figure))));
    }
    for (Expectation stronger : more) {
      expectations.removeIf(weaker -> weaker.figure() == stronger.figure());
      expectations.add(stronger);
    }
    Duration connectTimeout = root.duration("connect-timeout", Duration.ofSeconds(30));
    Duration ackTimeout = root.duration("acknowledge-timeout", Duration.ofSeconds(30));
    var _ = root.section("broker", "a broker");
    root.finish();
    return root.at("phases", _ -> new Plan(name, pools, steps, expectations, loops, connectTimeout, ackTimeout));
  }

  private static Node compose(String file, String text) {
    try {
      Optional<Node> root = new Compose(LoadSettings.builder().setLabel(file).setMaxAliasesForCollections(50).build()).composeString(text);
      return root.orElseThrow(() -> new ScenarioException(file, 0, "the scenario is empty", null));
    } catch (MarkedYamlEngineException wrong) {
      int line = wrong.getProblemMark().map(mark -> mark.getLine() + 1).orElse(0);
      throw new ScenarioException(file, line, "this is no YAML: " + wrong.getProblem(), wrong);
    } catch (YamlEngineException wrong) {
      throw new ScenarioException(file, 0, "this is no YAML: " + wrong.getMessage(), wrong);
    }
  }

  private static void variables(Section root, Map<String, String> given, Variables variables) {
    Section section = root.section("variables", "variables");
    if (section != null) for (String name : section.keys()) variables.usual(name, section.needed(name));
    for (String name : given.keySet()) {
      boolean known = name.equals("host") || name.equals("port") || (section != null && section.keys().contains(name));
      if (!known) throw root.error("variables", "the scenario has no variable \"%s\"; there are %s".formatted(name, section == null ? "none" : String.join(", ", section.keys())));
    }
  }

  private static List<Pool> pools(Section root, @org.jspecify.annotations.Nullable Section defaults, Path directory) {
    Section all = root.section("pools", "pools");
    if (all == null) throw root.error(root.line(), "the scenario has no \"pools\"", null);
    var reader = new PoolReader(directory);
    var pools = new ArrayList<Pool>();
    for (String name : all.keys()) {
      Section pool = all.section(name, "a pool");
      if (pool == null) continue;
      pools.add(reader.read(name, defaults == null ? pool : pool.over(defaults), root));
    }
    if (pools.isEmpty()) throw root.error("pools", "the scenario has no pools");
    if (defaults != null) defaults.finish();
    return pools;
  }
}
