package dunlin.load.plan;

/**
 * What must hold at the end of a run.
 *
 * @param figure its name, as Figures of the report knows it
 * @param atMost whether the limit is the most, or the least
 * @param limit in the figure's unit: microseconds for times
 * @param text as it was written
 */
public record Expectation(Figure figure, boolean atMost, double limit, String text) {
  /** Reads one: a number, a time or a percentage, with {@code <=} or {@code >=} before it where the usual is not meant. */
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
