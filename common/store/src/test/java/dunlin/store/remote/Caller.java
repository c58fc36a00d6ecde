package dunlin.store.remote;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.ResultCodec;
import dunlin.store.settings.RangeClientSettings;
import io.micrometer.core.instrument.search.Search;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** A range client with a map that learns only from answers, and a record of each command's outcome. */
final class Caller implements AutoCloseable {
  /** A command of the ledger: an identifier followed by padding. */
  record Entry(long id, int padding, boolean idempotent) {
    static Entry of(long id) {
      return new Entry(id, 0, false);
    }
  }

  /** How a command ended: at a position of the ledger, or with a failure. */
  record End(int position, @Nullable StoreException failure) {
    /** Whether a command that failed may have been applied. */
    boolean unknown() {
      if (failure == null) throw new AssertionError("done at " + position);
      return failure instanceof OutcomeUnknownException;
    }
  }

  static final CommandCodec<Entry> COMMANDS =
      new CommandCodec<>() {
        @Override
        public int encodedLength(Entry command) {
          return 8 + command.padding();
        }

        @Override
        public void encode(Entry command, ByteBuffer out) {
          out.putLong(command.id()).position(8 + command.padding());
        }

        @Override
        public Entry decode(ByteBuffer in) {
          return new Entry(in.getLong(), in.remaining(), false);
        }
      };

  static final ResultCodec<Integer> RESULTS =
      new ResultCodec<>() {
        @Override
        public byte[] encode(Integer result) {
          return ByteBuffer.allocate(4).putInt(result).array();
        }

        @Override
        public Integer decode(ByteBuffer in) {
          return in.getInt();
        }
      };

  /** Commands belong to the range that has the identifier as its key. */
  static final RemoteRange.Rules<Entry> RULES =
      new RemoteRange.Rules<>() {
        @Override
        public boolean belongs(Entry command, RangeLocation now) {
          return now.contains(key(command.id()));
        }

        @Override
        public boolean idempotent(Entry command) {
          return command.idempotent();
        }
      };

  final Map<UUID, RangeLocation> known = new ConcurrentHashMap<>();
  final Set<UUID> doubted = ConcurrentHashMap.newKeySet();
  final Map<Long, End> ends = new ConcurrentHashMap<>();
  final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  final RangeClient client;

  Caller() {
    this(settings(), null, System::nanoTime);
  }

  Caller(RangeClientSettings settings, @Nullable ServiceTls tls, LongSupplier nanoTime) {
    var map =
        new RangeMap() {
          @Override
          public Optional<RangeLocation> find(UUID range) {
            return Optional.ofNullable(known.get(range));
          }

          @Override
          public void learned(RangeLocation now) {
            known.put(now.range(), now);
          }

          @Override
          public void doubted(UUID range) {
            doubted.add(range);
          }
        };
    client = new RangeClient("a test", settings, map, tls, meters, nanoTime, new Random(1));
  }

  /** The default settings, but with longer timeouts. */
  static RangeClientSettings settings() {
    return withTimeout(Duration.ofSeconds(60));
  }

  static RangeClientSettings withTimeout(Duration timeout) {
    var some = RangeClientSettings.defaults();
    return new RangeClientSettings(
        some.bounds(), some.frames(), timeout,
        new RangeClientSettings.Retries(some.retries().backoffFirst(), Duration.ofMillis(50), some.retries().hopsMax()),
        new RangeClientSettings.Silence(Duration.ofSeconds(30), Duration.ofSeconds(30), Duration.ofMinutes(1)));
  }

  static byte[] key(long id) {
    return ByteBuffer.allocate(8).putLong(id).array();
  }

  RemoteRange<Entry, Integer> range(RangeLocation location) {
    known.put(location.range(), location);
    return client.range(location.range(), COMMANDS, RESULTS, RULES);
  }

  RemoteRange<Entry, Integer> orderedRange(RangeLocation location) {
    known.put(location.range(), location);
    return client.orderedRange(location.range(), COMMANDS, RESULTS, RULES);
  }

  boolean propose(RemoteRange<Entry, Integer> range, Entry command) {
    return range.propose(command, ending(command.id()));
  }

  Completion<Integer> ending(long id) {
    return new Completion<>() {
      @Override
      public void done(Integer position) {
        ended(new End(position, null));
      }

      @Override
      public void failed(StoreException failure) {
        ended(new End(0, failure));
      }

      private void ended(End end) {
        var before = ends.put(id, end);
        if (before != null) ends.put(-id - 1, end); // no test has such a command, so this fails it
      }
    };
  }

  End await(long id) {
    // Without a delay: Awaitility polls first after 100 ms, and some tests wait for a thousand outcomes one by one.
    Awaitility.await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(5)).atMost(Duration.ofMinutes(2)).until(() -> ends.containsKey(id));
    var end = ends.get(id);
    if (end == null) throw new AssertionError("command " + id + " has no end");
    return end;
  }

  /** Waits until the client's thread has seen all proposals so far. */
  void catchUp() throws InterruptedException, ExecutionException, TimeoutException {
    var come = new CompletableFuture<Boolean>();
    client.execute(() -> come.complete(true));
    come.get(120, TimeUnit.SECONDS);
  }

  RangeLocation knownNow(UUID range) {
    var location = known.get(range);
    if (location == null) throw new AssertionError("nothing is known of " + range);
    return location;
  }

  double count(String name, String... tags) {
    return Search.in(meters).name(name).tags(tags).counters().stream().mapToDouble(counter -> counter.count()).sum();
  }

  @Override
  public void close() {
    client.close();
  }
}
