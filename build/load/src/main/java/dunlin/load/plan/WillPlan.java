package dunlin.load.plan;

/** The will of each client of a pool. */
public record WillPlan(Template topic, int qos, boolean retain) {
  public WillPlan {
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, and not " + qos);
  }
}
