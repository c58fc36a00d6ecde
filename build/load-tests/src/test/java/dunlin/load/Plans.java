package dunlin.load;

import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.engine.LocalCrew;
import dunlin.load.engine.Result;
import dunlin.load.engine.Run;
import dunlin.load.mqtt.Version;
import dunlin.load.plan.Access;
import dunlin.load.plan.Payload;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Step;
import dunlin.load.plan.Subscribing;
import dunlin.load.plan.Template;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Small plans for tests, and their results. */
public final class Plans {
  private Plans() {}

  public static Pool pool(String name, int clients, int port, Version version, List<Subscribing> subscriptions, List<Publishing> publishings) {
    return new Pool(
        name, clients, 0, new Template(name + "-%i"), List.of(version), true, Duration.ofHours(1), Duration.ofSeconds(60), null, null, null, null, subscriptions, publishings,
        null, null, 100, 10_000, Access.plain("127.0.0.1", port));
  }

  public static Subscribing to(String filter, int qos) {
    return new Subscribing(new Template(filter), qos);
  }

  /** A publishing in an open loop. */
  public static Publishing open(String topic, int qos, double perSecond) {
    return publishing(topic, qos, new Rate(perSecond), 1);
  }

  public static Publishing closed(String topic, int qos, int window) {
    return publishing(topic, qos, null, window);
  }

  private static Publishing publishing(String topic, int qos, @Nullable Rate rate, int window) {
    return new Publishing(new Template(topic), List.of(qos), false, rate, window, Payload.ofSize(32));
  }

  /** Connects receivers, then senders, which publish a number of messages in all, and waits for the messages. */
  public static Plan plan(Pool receivers, Pool senders, long messages) {
    return plan(
        List.of(receivers, senders),
        List.of(
            new Step.Connect("subscribe", List.of(receivers.name()), null),
            new Step.Connect("connect", List.of(senders.name()), null),
            new Step.Traffic("publish", List.of(new Step.Flow(senders.name(), null, null, messages)), List.of(), Duration.ofSeconds(30)),
            new Step.Drain("drain", Duration.ofSeconds(30))));
  }

  public static Plan plan(List<Pool> pools, List<Step> steps) {
    return new Plan("test", pools, steps, List.of(), 2, Duration.ofSeconds(10), Duration.ofSeconds(10));
  }

  public static Result run(Plan plan) {
    return new Run(plan, LocalCrew::all, null, (_, _) -> {}).execute();
  }

  public static long lost(Result result) {
    Tally tally = result.tally();
    return tally.total();
  }

  public static long count(Result result, Count... counts) {
    return result.snapshot().sum(counts);
  }
}
