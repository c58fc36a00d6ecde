package dunlin.load.engine;

/** Whether one expectation was met. */
public record Verdict(String expectation, double value, boolean met) {}
