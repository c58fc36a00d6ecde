package dunlin.chaos.mqtt.check;

import java.util.ArrayList;
import java.util.List;

/** Checks the history of all clients against docs/DELIVERY.md: one class for each group of promises. */
public final class MqttChecker {
  private MqttChecker() {}

  /** @param drops the drops by rules of D10 that the broker has counted */
  public static List<Violation> check(List<Event> history, Drops drops) {
    var facts = new Facts(history);
    var violations = new ArrayList<Violation>();
    violations.addAll(new DeliveryRules(facts, drops).check());
    violations.addAll(new SessionRules(facts).check());
    violations.addAll(new WillRules(facts).check());
    violations.addAll(new RetainedRules(facts).check());
    violations.addAll(new GroupRules(facts).check());
    violations.addAll(new MinorityRules(facts).check());
    return violations;
  }

  /** The fewest drops that explain what is missing in a history. By them, one message more is found missing in a changed history. */
  public static Drops missing(List<Event> history) {
    var missing = DeliveryRules.missing(new Facts(history));
    long stored = missing.stream().filter(each -> each.promise().equals("D3")).count();
    return new Drops(stored, missing.size() - stored);
  }

  /** How many messages are missing, by the history so far. */
  public static int outstanding(List<Event> history) {
    var facts = new Facts(history);
    return DeliveryRules.missing(facts).size() + GroupRules.missing(facts).size() + WillRules.missing(facts).size();
  }
}
