package dunlin.load.plan;

/** A frequency of events. */
public record Rate(double perSecond) {
  public Rate {
    if (!(perSecond > 0) || Double.isInfinite(perSecond)) throw new IllegalArgumentException("a rate is more than 0, and not " + perSecond);
  }

  public static Rate perSecond(double number) {
    return new Rate(number);
  }
}
