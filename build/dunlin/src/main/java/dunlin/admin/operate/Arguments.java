package dunlin.admin.operate;

import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Parameter;
import dunlin.runtime.LogText;
import java.util.HashMap;
import java.util.Map;

/** The values of an endpoint's parameters, each within its bounds. */
public final class Arguments {
  private final Endpoint endpoint;
  private final Map<String, String> values;

  private Arguments(Endpoint endpoint, Map<String, String> values) {
    this.endpoint = endpoint;
    this.values = values;
  }

  /**
   * Checks what a request says.
   *
   * @throws Problem naming the parameter that is unknown, in the wrong place, missing or out of bounds
   */
  public static Arguments of(Endpoint endpoint, Map<Parameter.Place, Map<String, String>> given) {
    Map<String, String> values = new HashMap<>();
    Map<String, Parameter> known = new HashMap<>();
    for (Parameter parameter : endpoint.parameters()) {
      known.put(parameter.name(), parameter);
      String value = given.getOrDefault(parameter.place(), Map.of()).get(parameter.name());
      if (value == null) {
        if (parameter.required()) throw Problem.invalid("The parameter " + parameter.name() + " is missing.");
        String preset = parameter.preset();
        values.put(parameter.name(), preset == null ? "" : preset);
      } else {
        check(parameter, value);
        values.put(parameter.name(), value);
      }
    }
    given.forEach(
        (place, named) -> {
          for (String name : named.keySet()) {
            Parameter parameter = known.get(name);
            if (parameter == null || parameter.place() != place) throw Problem.invalid("There is no parameter " + LogText.quoted(name) + " here.");
          }
        });
    return new Arguments(endpoint, values);
  }

  private static void check(Parameter parameter, String value) {
    String name = parameter.name();
    switch (parameter.kind()) {
      case TEXT, LINES, SECRET -> {
        if (!parameter.choices().isEmpty() && !parameter.choices().contains(value)) {
          throw Problem.invalid("The parameter %s is one of %s.".formatted(name, String.join(", ", parameter.choices())));
        }
        if (value.length() < parameter.min() || value.length() > parameter.max()) {
          throw Problem.invalid("The parameter %s has %d characters; it may have %d to %d.".formatted(name, value.length(), parameter.min(), parameter.max()));
        }
      }
      case INTEGER -> {
        if (!value.matches("-?[0-9]{1,18}") || Long.parseLong(value) < parameter.min() || Long.parseLong(value) > parameter.max()) {
          throw Problem.invalid("The parameter %s is an integer from %d to %d.".formatted(name, parameter.min(), parameter.max()));
        }
      }
      case FLAG -> {
        if (!value.equals("true") && !value.equals("false")) throw Problem.invalid("The parameter %s is true or false.".formatted(name));
      }
    }
  }

  /** Empty when it is not given and has no preset value. */
  String text(String name) {
    String value = values.get(name);
    if (value == null) throw new IllegalStateException("not a parameter of " + endpoint.command() + ": " + name);
    return value;
  }

  public int number(String name) {
    return Integer.parseInt(text(name));
  }

  long longNumber(String name) {
    return Long.parseLong(text(name));
  }

  boolean flag(String name) {
    return Boolean.parseBoolean(text(name));
  }
}
