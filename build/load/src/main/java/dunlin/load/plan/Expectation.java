package dunlin.load.plan;

/**
 * A condition that must hold at the end of a run.
 *
 * @param figure the figure that it limits
 * @param atMost whether the limit is an upper one or a lower one
 * @param limit in the figure's unit: microseconds for times
 * @param text as it was written
 */
public record Expectation(Figure figure, boolean atMost, double limit, String text) {
  /** Parses a number, a time or a percentage, with {@code <=} or {@code >=} before it to override the figure's default. */
  public static Expectation parse(String name, String text) {
    Figure figure = Figure.named(name);
    String rest = text.strip();
    boolean atMost = figure.isBetterLow();
    if (rest.startsWith("<=") || rest.startsWith(">=")) {
      atMost = rest.startsWith("<=");
      rest = rest.substring(2).strip();
    }
    return new Expectation(figure, atMost, figure.parse(rest), name + ": " + text);
  }

  public boolean holds(double value) {
    return atMost ? value <= limit : value >= limit;
  }
}
