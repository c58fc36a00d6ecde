package dunlin.broker;

import dunlin.broker.connect.Leaving;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** Gauges of a frontend's event loops. Each read sums over all loops. */
final class LoopGauges {
  private LoopGauges() {}

  static void show(Frontend frontend, Leaving leaving, MeterRegistry registry) {
    Gauge.builder("dunlin.frontend.leaving", leaving, Leaving::waiting)
        .description("Sessions whose connection has ended but that are still connected for the session tier")
        .register(registry);
    Gauge.builder("dunlin.subscriptions", frontend, Frontend::subscriptions)
        .description("Subscriptions of connected sessions without expiry")
        .register(registry);
    Gauge.builder("dunlin.subscriptions.shared", frontend, Frontend::sharedSubscriptions)
        .description("Shared subscriptions of connected sessions without expiry")
        .register(registry);
    Gauge.builder("dunlin.subscriptions.filters", frontend, f -> f.sum(each -> each.sessions().fanout().routes().size()))
        .description("Distinct topic filters of connected sessions without expiry")
        .register(registry);
    Gauge.builder("dunlin.subscriptions.changes", frontend, f -> f.sum(each -> each.sessions().fanout().routes().changesWaiting()))
        .description("Routes of this frontend that wait to be set or removed")
        .register(registry);
    Gauge.builder("dunlin.subscriptions.stale-routes", frontend, f -> f.sum(each -> each.sessions().fanout().routes().staleRoutes()))
        .description("Routes without a subscription whose removal has failed, to be removed again")
        .register(registry);
    FunctionCounter.builder(
            "dunlin.subscriptions.abandoned-routes", frontend, f -> f.sum(each -> each.sessions().fanout().routes().abandonedRoutes()))
        .description("Routes whose removal was left to the next start because too many waited to be removed")
        .register(registry);
    Gauge.builder("dunlin.subscriptions.retained-reads", frontend, f -> f.sum(each -> each.sessions().retainedReads()))
        .description("Subscriptions whose retained messages have not all been read")
        .register(registry);
    Gauge.builder("dunlin.lane.messages", frontend, f -> f.sum(each -> each.loop().window().messages()))
        .description("Messages that hold credit of a lane")
        .register(registry);
    Gauge.builder("dunlin.lane.bytes", frontend, f -> f.sum(each -> each.loop().window().bytes()))
        .description("Bytes of the messages that hold credit of a lane")
        .baseUnit("bytes")
        .register(registry);
    Gauge.builder("dunlin.lane.held-connections", frontend, f -> f.sum(each -> each.loop().window().heldConnections()))
        .description("Connections that are not read from until their lane has credit")
        .register(registry);
    Gauge.builder("dunlin.loop.arrivals", frontend, f -> f.sum(each -> each.loop().arrivalsWaiting()))
        .description("Tasks posted to event loops and not started yet")
        .register(registry);
    Gauge.builder("dunlin.push.waiting", frontend, f -> f.sum(each -> each.pushes().messages()))
        .description("Messages pushed by the session tier that wait for the event loops of their sessions")
        .register(registry);
    Gauge.builder("dunlin.push.waiting.bytes", frontend, f -> f.sum(each -> each.pushes().bytes()))
        .description("Bytes of the messages pushed by the session tier that wait for event loops")
        .baseUnit("bytes")
        .register(registry);
    Gauge.builder("dunlin.push.waiting.oldest", frontend, f -> f.most(each -> each.pushes().waitingSeconds()))
        .description("How long the oldest pushed message has waited for its event loop")
        .baseUnit("seconds")
        .register(registry);
    FunctionCounter.builder("dunlin.push.behind", frontend, f -> f.sum(each -> each.pushes().notes()))
        .description("Times that a connection was told to read its inbox because too many pushes waited for its event loop")
        .register(registry);
    Gauge.builder("dunlin.application.publishing", frontend.application(), ApplicationPublisher::messages)
        .description("Messages in flight of the application that embeds the node")
        .register(registry);
    Gauge.builder("dunlin.fanout.waiting", frontend, f -> f.sum(each -> each.sessions().fanout().wide().waiting()))
        .description("Messages with many subscribers that are being delivered in slices, or wait for that")
        .register(registry);
    Gauge.builder("dunlin.group.waiting", frontend, Frontend::groupWaiting)
        .description("Messages that wait for a member of a shared subscription, or are in flight to one")
        .register(registry);
    Gauge.builder("dunlin.group.oldest-wait", frontend, f -> f.most(each -> each.sessions().fanout().groups().oldestWaitSeconds()))
        .description("The longest time that a message has waited for a member of a shared subscription")
        .baseUnit("seconds")
        .register(registry);
  }
}
