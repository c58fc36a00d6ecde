package dunlin.load.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * How much a step of a plan offers to the broker, as far as that follows from the plan.
 *
 * @param published messages in a second; 0 for a closed loop, which takes what it gets
 * @param deliveries in a second, when the broker keeps up
 * @param fanOut receivers of a message, on average
 */
public record Offer(String step, double published, double deliveries, double fanOut, boolean closedLoop) {
  /** Above it no single machine is known to carry a load; 160 cores in five machines carried a million. */
  public static final double DELIVERIES_TOO_MANY = 1_000_000;

  /** One for each step that publishes. */
  public static List<Offer> of(Plan plan, Audience audience) {
    var offers = new ArrayList<Offer>();
    for (Step step : plan.steps()) {
      if (step instanceof Step.Traffic(String name, List<Step.Flow> flows, _, _) && !flows.isEmpty()) offers.add(of(plan, audience, name, flows));
    }
    return offers;
  }

  private static Offer of(Plan plan, Audience audience, String name, List<Step.Flow> flows) {
    double published = 0;
    double deliveries = 0;
    double streams = 0;
    double receivers = 0;
    boolean closed = false;
    for (Step.Flow flow : flows) {
      Pool pool = plan.pool(flow.pool());
      for (Publishing publishing : pool.publishings()) {
        Rate rate = flow.rate() == null ? publishing.rate() : flow.rate();
        Rate end = flow.rateAtEnd();
        double perClient = rate == null ? 0 : Math.max(rate.perSecond(), end == null ? 0 : end.perSecond());
        if (rate == null) closed = true;
        int constant = publishing.topic().isConstant() ? audience.count(publishing.topic().toString()) : -1;
        for (int client = 0; client < pool.clients(); client++) {
          int fanOut = constant >= 0 ? constant : audience.count(publishing.topic().fill(pool.who(client)));
          streams++;
          receivers += fanOut;
          published += perClient;
          deliveries += perClient * fanOut;
        }
      }
    }
    return new Offer(name, published, deliveries, streams == 0 ? 0 : receivers / streams, closed);
  }

  /** In one line, for people. */
  public String line() {
    String closed = closedLoop ? "; beside that, clients in a closed loop publish as fast as they are answered" : "";
    return String.format(Locale.ROOT, "%s: offers %,.0f messages/s, which are %,.0f deliveries/s (each message goes to %,.1f receivers)%s", step, published, deliveries, fanOut, closed);
  }

  public boolean isTooMuch() {
    return deliveries > DELIVERIES_TOO_MANY;
  }
}
