package dunlin.store.remote;

import dunlin.store.serve.RangeReply;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The meters of one node's store service. */
final class ServiceMeters implements AutoCloseable {
  private final MeterRegistry registry;
  private final List<Meter> registered = new ArrayList<>();
  private final Counter frames;
  private final Counter requests;
  private final Counter notLeader;
  private final Counter wrongEpoch;
  private final Counter overloaded;
  private final Counter unavailable;
  private final Counter expired;
  private final Counter unknown;
  private final Counter badFrames;
  private final Counter refusedStreams;
  private final Counter pauses;
  private final Counter chunks;
  private final Counter refusedChunks;
  private final Counter refusedCalls;

  ServiceMeters(MeterRegistry registry) {
    this.registry = registry;
    chunks = bytes("dunlin.store.service.snapshot", "Bytes of snapshots sent to other nodes");
    refusedChunks = counter("dunlin.store.service.snapshot.refused", "Calls for snapshots that were refused or failed");
    refusedCalls = counter("dunlin.store.service.calls.refused", "Calls from other nodes refused: too many, too large, or malformed");
    frames = counter("dunlin.store.service.frames", "Frames of requests from other nodes");
    requests = counter("dunlin.store.service.requests", "Requests from other nodes");
    notLeader = refusals("not-leader");
    wrongEpoch = refusals("wrong-epoch");
    overloaded = refusals("overloaded");
    unavailable = refusals("unavailable");
    expired = refusals("expired");
    unknown = refusals("unknown");
    badFrames = counter("dunlin.store.service.frames.bad", "Frames that no correct node sends; each ended its stream");
    refusedStreams = counter("dunlin.store.service.streams.refused", "Streams refused because too many were open, or ended because no hello came in time");
    pauses = counter("dunlin.store.service.pauses", "Times a stream was not read from because its window was full");
  }

  <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    register(Gauge.builder(name, source, value).description(description).register(registry));
  }

  void frame(int count) {
    frames.increment();
    requests.increment(count);
  }

  void answered(RangeReply reply) {
    switch (reply) {
      case RangeReply.Done _ -> {} // requests less refusals
      case RangeReply.NotLeader _ -> notLeader.increment();
      case RangeReply.WrongEpoch _ -> wrongEpoch.increment();
      case RangeReply.Overloaded _ -> overloaded.increment();
      case RangeReply.Unavailable _ -> unavailable.increment();
      case RangeReply.Expired _ -> expired.increment();
      case RangeReply.Unknown _ -> unknown.increment();
    }
  }

  void badFrame() {
    badFrames.increment();
  }

  void streamRefused() {
    refusedStreams.increment();
  }

  void chunk(int bytes) {
    chunks.increment(bytes);
  }

  void chunkRefused() {
    refusedChunks.increment();
  }

  void callRefused() {
    refusedCalls.increment();
  }

  void paused() {
    pauses.increment();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }

  private Counter bytes(String name, String description) {
    return register(Counter.builder(name).description(description).baseUnit("bytes").register(registry));
  }

  private Counter refusals(String reason) {
    return register(
        Counter.builder("dunlin.store.service.refusals")
            .description("Requests from other nodes that were not done, or whose outcome is unknown")
            .tag("reason", reason)
            .register(registry));
  }

  private Counter counter(String name, String description) {
    return register(Counter.builder(name).description(description).register(registry));
  }

  private <M extends Meter> M register(M meter) {
    registered.add(meter);
    return meter;
  }
}
