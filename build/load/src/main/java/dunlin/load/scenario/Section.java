package dunlin.load.scenario;

import dunlin.load.plan.Rate;
import dunlin.load.plan.Units;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/** A YAML mapping in a scenario: reads its values, knows their lines, and rejects unknown keys. */
final class Section {
  /* Owner: the reading thread. Bounds: ELEMENTS_MAX for a list. */
  private static final int ELEMENTS_MAX = 10_000;

  private final String file;
  private final String what;
  private final Node node;
  private final Variables variables;
  private final @Nullable Section otherwise;
  private final Map<String, Node> values = new LinkedHashMap<>();
  private final Map<String, Integer> lines = new LinkedHashMap<>();
  private final Set<String> known = new TreeSet<>();

  /**
   * @param what the section's name in messages
   * @param otherwise a fallback for missing values, or null
   */
  Section(String file, String what, Node node, Variables variables, @Nullable Section otherwise) {
    this.file = file;
    this.what = what;
    this.node = node;
    this.variables = variables;
    this.otherwise = otherwise;
    if (!(node instanceof MappingNode mapping)) throw error(line(node), what + " must have keys and values", null);
    for (NodeTuple tuple : mapping.getValue()) {
      String key = scalar(tuple.getKeyNode());
      if (values.putIfAbsent(key, tuple.getValueNode()) != null) throw error(line(tuple.getKeyNode()), "\"%s\" stands here twice".formatted(key), null);
      lines.put(key, line(tuple.getKeyNode()));
    }
  }

  static int line(Node node) {
    return node.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
  }

  int line() {
    return line(node);
  }

  Set<String> keys() {
    return values.keySet();
  }

  /** The line of a key, or of the section when it has none. */
  int line(String key) {
    return lines.getOrDefault(key, line());
  }

  ScenarioException error(int line, String message, @Nullable Throwable cause) {
    return new ScenarioException(file, line, message, cause);
  }

  ScenarioException error(String key, String message) {
    return error(line(key), message, null);
  }

  /** Called after all keys are read: rejects every other key. */
  void finish() {
    for (String key : values.keySet()) {
      if (!known.contains(key)) throw error(key, "%s has no key \"%s\"; there are %s".formatted(what, key, String.join(", ", known)));
    }
  }

  /** Runs a reader, and adds the line of a key to its error. */
  <T> T at(String key, Function<Section, T> reader) {
    try {
      return reader.apply(this);
    } catch (IllegalArgumentException | ArithmeticException wrong) {
      throw error(line(key), String.valueOf(wrong.getMessage()), wrong);
    }
  }

  boolean has(String key) {
    known.add(key);
    return values.containsKey(key) || (otherwise != null && otherwise.has(key));
  }

  private @Nullable Node node(String key) {
    known.add(key);
    return values.get(key);
  }

  private <T> @Nullable T value(String key, Function<String, T> reader) {
    Node value = node(key);
    if (value == null) return otherwise == null ? null : otherwise.value(key, reader);
    return convert(value, key, reader);
  }

  private <T> T convert(Node value, String key, Function<String, T> reader) {
    if (!(value instanceof ScalarNode scalar)) throw error(line(value), "\"%s\" must be one value".formatted(key), null);
    try {
      return reader.apply(variables.fill(scalar.getValue()));
    } catch (IllegalArgumentException | ArithmeticException wrong) {
      throw error(line(value), String.valueOf(wrong.getMessage()), wrong);
    }
  }

  @Nullable String text(String key) {
    return value(key, Function.identity());
  }

  String text(String key, String usual) {
    String text = text(key);
    return text == null ? usual : text;
  }

  String needed(String key) {
    String text = text(key);
    if (text == null) throw error(line(), "%s has no \"%s\"".formatted(what, key), null);
    return text;
  }

  long number(String key, long usual) {
    Long number = value(key, text -> {
      if (!text.matches("[0-9][0-9_]{0,18}")) throw new IllegalArgumentException("\"%s\" is no whole number for \"%s\"".formatted(text, key));
      return Long.parseLong(text.replace("_", ""));
    });
    return number == null ? usual : number;
  }

  int integer(String key, int usual) {
    long number = number(key, usual);
    if (number > Integer.MAX_VALUE) throw error(key, "%,d is too large for \"%s\"".formatted(number, key));
    return (int) number;
  }

  boolean truth(String key, boolean usual) {
    Boolean truth =
        value(
            key,
            text ->
                switch (text) {
                  case "true" -> true;
                  case "false" -> false;
                  default -> throw new IllegalArgumentException("\"%s\" must be true or false, and not \"%s\"".formatted(key, text));
                });
    return truth == null ? usual : truth;
  }

  @Nullable Duration duration(String key) {
    return value(key, Units::duration);
  }

  Duration duration(String key, Duration usual) {
    Duration duration = duration(key);
    return duration == null ? usual : duration;
  }

  @Nullable Rate rate(String key) {
    return value(key, Units::rate);
  }

  /** One value, or a list of them. */
  <T> List<T> list(String key, Function<String, T> reader) {
    Node value = node(key);
    if (value == null) return otherwise == null ? List.of() : otherwise.list(key, reader);
    var list = new ArrayList<T>();
    for (Node element : elements(value)) list.add(convert(element, key, reader));
    return list;
  }

  /** A list of sections, or a single one. A plain value instead of a section is the value of keyOfPlain. */
  List<Section> sections(String key, String inWords, String keyOfPlain) {
    Node value = node(key);
    if (value == null) return otherwise == null ? List.of() : otherwise.sections(key, inWords, keyOfPlain);
    var list = new ArrayList<Section>();
    for (Node element : elements(value)) list.add(new Section(file, inWords, element instanceof ScalarNode ? wrapped(element, keyOfPlain) : element, variables, null));
    return list;
  }

  private static Node wrapped(Node plain, String key) {
    var name = new ScalarNode(Tag.STR, true, key, ScalarStyle.PLAIN, plain.getStartMark(), plain.getEndMark());
    return new MappingNode(
        Tag.MAP, true, List.of(new NodeTuple(name, plain)), FlowStyle.FLOW, plain.getStartMark(), plain.getEndMark());
  }

  private List<Node> elements(Node value) {
    List<Node> elements = value instanceof SequenceNode sequence ? sequence.getValue() : List.of(value);
    if (elements.size() > ELEMENTS_MAX) throw error(line(value), "a list has more than %,d elements".formatted(ELEMENTS_MAX), null);
    return elements;
  }

  /** A section inside this one, or null. */
  @Nullable Section section(String key, String inWords) {
    Node value = node(key);
    if (value == null) return otherwise == null ? null : otherwise.section(key, inWords);
    return new Section(file, inWords, value, variables, null);
  }

  /** This section with another one as its fallback. */
  Section over(Section fallback) {
    return new Section(file, what, node, variables, fallback);
  }

  private String scalar(Node key) {
    if (key instanceof ScalarNode scalar) return scalar.getValue();
    throw error(line(key), "a key must be a word", null);
  }

  /** A text with its variables replaced. */
  String filled(String text) {
    return variables.fill(text);
  }
}
