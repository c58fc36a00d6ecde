package dunlin.load.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The load that a step of a plan offers to the broker, as far as the plan determines it.
 *
 * @param published messages per second; 0 for a closed loop, whose rate depends on the broker
 * @param deliveries per second, when the broker keeps up
 * @param fanOut receivers of a message, on average
 */
public record Offer(String step, double published, double deliveries, double fanOut, boolean closedLoop) {
  /** No single machine is known to carry more; five machines with 160 cores carried a million. */
  public static final double DELIVERIES_TOO_MANY = 1_000_000;

  /** The offers of all steps that publish. */
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

  /** The offer in one line of text. */
  public String line() {
    String closed = closedLoop ? "; beside that, clients in a closed loop publish as fast as they are answered" : "";
    return String.format(Locale.ROOT, "%s: offers %,.0f messages/s, which are %,.0f deliveries/s (each message goes to %,.1f receivers)%s", step, published, deliveries, fanOut, closed);
  }

  public boolean isTooMuch() {
    return deliveries > DELIVERIES_TOO_MANY;
  }
}
