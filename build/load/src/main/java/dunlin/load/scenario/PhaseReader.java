package dunlin.load.scenario;

import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the phases of a scenario. */
final class PhaseReader {
  private final Map<String, Pool> pools = new LinkedHashMap<>();

  PhaseReader(List<Pool> pools) {
    for (Pool pool : pools) this.pools.put(pool.name(), pool);
  }

  List<Step> read(List<Section> phases) {
    var steps = new ArrayList<Step>();
    for (Section phase : phases) read(phase, steps);
    return steps;
  }

  private void read(Section phase, List<Step> steps) {
    if (phase.has("repeat")) {
      repeat(phase, steps);
      return;
    }
    int kinds = 0;
    for (String kind : List.of("connect", "disconnect", "drop", "drain")) if (phase.has(kind)) kinds++;
    boolean traffic = phase.has("publish") || phase.has("churn");
    boolean waits = phase.has("for") && kinds == 0;
    if (kinds + (traffic || waits ? 1 : 0) != 1) {
      throw phase.error(phase.line(), "a phase does one of these: connect, publish (and churn), churn, disconnect, drop, drain, repeat, or for alone to wait", null);
    }
    String name = phase.text("name");
    steps.add(step(phase, name));
    phase.finish();
    if (steps.size() > Plan.STEPS_MAX) throw phase.error(phase.line(), "there are more than %,d phases".formatted(Plan.STEPS_MAX), null);
  }

  private Step step(Section phase, @Nullable String name) {
    if (phase.has("connect")) return new Step.Connect(name == null ? "connect" : name, names(phase, "connect"), phase.rate("rate"));
    if (phase.has("disconnect")) return new Step.Disconnect(name == null ? "disconnect" : name, names(phase, "disconnect"), false);
    if (phase.has("drop")) return new Step.Disconnect(name == null ? "drop" : name, names(phase, "drop"), true);
    if (phase.has("drain")) return new Step.Drain(name == null ? "drain" : name, phase.duration("drain", Duration.ZERO));
    return traffic(phase, name);
  }

  private Step traffic(Section phase, @Nullable String name) {
    var flows = new ArrayList<Step.Flow>();
    for (Section one : phase.sections("publish", "a pool that publishes", "pool")) {
      String pool = one.needed("pool");
      if (known(one, "pool", pool).publishings().isEmpty()) throw one.error("pool", "the pool %s has nothing to publish".formatted(pool));
      Rate rate = one.rate("rate");
      Rate to = one.rate("to");
      if (to != null && rate == null) throw one.error("to", "a rate that changes needs a \"rate\" to begin with");
      flows.add(new Step.Flow(pool, rate, to, one.number("messages", 0)));
      one.finish();
    }
    var churns = new ArrayList<Step.Churn>();
    for (Section one : phase.sections("churn", "a pool that comes and goes", "pool")) {
      String pool = one.needed("pool");
      var _ = known(one, "pool", pool);
      Rate rate = one.rate("rate");
      if (rate == null) throw one.error(one.line(), "churn needs a \"rate\"", null);
      churns.add(new Step.Churn(pool, rate));
      one.finish();
    }
    Duration lasting = phase.duration("for");
    boolean ends = lasting != null || (churns.isEmpty() && flows.stream().allMatch(flow -> flow.messages() > 0));
    if (!ends) throw phase.error(phase.line(), "this phase does not end: give it a \"for\", or each pool a number of \"messages\"", null);
    if (lasting == null && flows.stream().anyMatch(flow -> flow.rateAtEnd() != null)) throw phase.error(phase.line(), "a rate that changes needs a \"for\"", null);
    String usual = flows.isEmpty() ? churns.isEmpty() ? "wait" : "churn" : "publish";
    return new Step.Traffic(name == null ? usual : name, flows, churns, lasting == null ? Step.FOREVER : lasting);
  }

  private void repeat(Section phase, List<Step> steps) {
    int times = phase.integer("repeat", 1);
    if (times < 1 || times > Plan.STEPS_MAX) throw phase.error("repeat", "phases are repeated 1 to %,d times, and not %,d".formatted(Plan.STEPS_MAX, times));
    if (!phase.has("phases")) throw phase.error("repeat", "\"repeat\" needs \"phases\" to repeat");
    List<Step> once = read(phase.sections("phases", "a phase", "connect"));
    phase.finish();
    for (int i = 0; i < times; i++) {
      steps.addAll(once);
      if (steps.size() > Plan.STEPS_MAX) throw phase.error("repeat", "there are more than %,d phases".formatted(Plan.STEPS_MAX));
    }
  }

  private List<String> names(Section phase, String key) {
    List<String> names = phase.list(key, text -> text);
    for (String name : names) {
      var _ = known(phase, key, name);
    }
    return names;
  }

  private Pool known(Section section, String key, String name) {
    Pool pool = pools.get(name);
    if (pool == null) throw section.error(key, "there is no pool \"%s\"; there are %s".formatted(name, String.join(", ", pools.keySet())));
    return pool;
  }
}
