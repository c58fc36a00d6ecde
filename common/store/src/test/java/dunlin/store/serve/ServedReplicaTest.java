package dunlin.store.serve;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.Completion;
import dunlin.store.StoreException;
import dunlin.store.raft.Command;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Trio;
import dunlin.store.remote.RangeClient;
import dunlin.store.remote.RangeMap;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteSnapshots;
import dunlin.store.remote.RemoteRange;
import dunlin.store.serve.RangeLocation.Peer;
import dunlin.store.settings.RangeClientSettings;
import dunlin.store.settings.RangeServiceSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three real replicas behind their store services, and a caller without one. */
class ServedReplicaTest {
  private static final Duration PATIENCE = Duration.ofSeconds(50);

  private static final ResultCodec<String> RESULTS =
      new ResultCodec<>() {
        @Override
        public byte[] encode(String result) {
          return Command.bytes(result);
        }

        @Override
        public String decode(ByteBuffer in) {
          var bytes = new byte[in.remaining()];
          in.get(bytes);
          return Command.text(bytes);
        }
      };

  private static final RemoteRange.Rules<Command> RULES =
      new RemoteRange.Rules<>() {
        @Override
        public boolean belongs(Command command, RangeLocation now) {
          return true;
        }

        @Override
        public boolean idempotent(Command command) {
          return false;
        }
      };

  @TempDir Path directory;

  private volatile List<Peer> peers = List.of();

  private RangeLocation location() {
    return new RangeLocation(Trio.RANGE.uuid(), 1, new byte[0], null, peers, null);
  }

  private RangeService serve(Trio.Node node) {
    LocalRanges ranges =
        range ->
            range.equals(Trio.RANGE.uuid())
                ? Optional.of(new ServedReplica<>(node.range(), Command.CODEC, RESULTS, this::location))
                : Optional.empty();
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var settings = RangeServiceSettings.defaults();
    return RangeService.start(address, node.id(), ranges, node.store(), settings, null, node.meters, System::nanoTime);
  }

  @Test
  void aCallerWithoutAReplicaFollowsTheLeader() throws Exception {
    try (var trio = Trio.start(directory);
        var one = serve(trio.nodes.get(0));
        var two = serve(trio.nodes.get(1));
        var three = serve(trio.nodes.get(2));
        var client = client()) {
      var found = new ArrayList<Peer>();
      var services = List.of(one, two, three);
      for (int i = 0; i < 3; i++) found.add(new Peer(trio.nodes.get(i).id(), "localhost", services.get(i).port()));
      peers = List.copyOf(found);
      var range = client.orderedRange(Trio.RANGE.uuid(), Command.CODEC, RESULTS, RULES);
      assertThat(propose(range, "a").get(60, TimeUnit.SECONDS)).isEqualTo("a");
      var leader = trio.leader();
      var next = trio.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      trio.letLead(next);

      assertThat(propose(range, "b").get(60, TimeUnit.SECONDS)).isEqualTo("ab");
      var caughtUp = new CompletableFuture<UUID>();
      assertThat(range.barrier(PATIENCE, completing(caughtUp))).isTrue();
      assertThat(caughtUp.get(60, TimeUnit.SECONDS)).isEqualTo(trio.leader().id());
    }
  }

  @Test
  void aSnapshotIsFetchedByTheService() throws Exception {
    try (var trio = Trio.start(directory);
        var service = serve(trio.leader());
        var source = new RemoteSnapshots(node -> Optional.of(new Peer(node, "localhost", service.port())), null)) {
      var node = trio.leader().id();
      var snapshot = source.open(node, Trio.RANGE);

      var current = snapshot.files().stream().filter(file -> file.name().equals("CURRENT")).findFirst().orElseThrow();
      byte[] content = source.read(node, snapshot.id(), "CURRENT", 0, (int) current.bytes());
      assertThat(Command.text(content)).startsWith("MANIFEST-");
    }
  }

  private RangeClient client() {
    var map =
        new RangeMap() {
          @Override
          public Optional<RangeLocation> find(UUID range) {
            return Optional.of(location());
          }

          @Override
          public void learned(RangeLocation now) {
            throw new AssertionError("the epoch never changes");
          }

          @Override
          public void doubted(UUID range) {
            // There is no other source to ask.
          }
        };
    return new RangeClient(
        "a test", RangeClientSettings.defaults(), map, null, new SimpleMeterRegistry(), System::nanoTime, new Random(1));
  }

  private static CompletableFuture<String> propose(RemoteRange<Command, String> range, String more) {
    var result = new CompletableFuture<String>();
    assertThat(range.propose(new Append("row", more), PATIENCE, completing(result))).isTrue();
    return result;
  }

  private static <R> Completion<R> completing(CompletableFuture<R> future) {
    return new Completion<>() {
      @Override
      public void done(R result) {
        future.complete(result);
      }

      @Override
      public void failed(StoreException failure) {
        future.completeExceptionally(failure);
      }
    };
  }
}
