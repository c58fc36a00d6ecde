package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeId;
import dunlin.store.serve.RangeLocation.Peer;
import dunlin.store.snapshot.SnapshotSource;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RemoteSnapshotsTest {
  private static final RangeId RANGE = RangeId.firstOf("ledger");

  private final Map<UUID, Peer> addresses = new ConcurrentHashMap<>();

  private RemoteSnapshots source(LedgerCluster cluster) {
    cluster.peers().forEach(peer -> addresses.put(peer.node(), peer));
    return new RemoteSnapshots(node -> Optional.ofNullable(addresses.get(node)), null);
  }

  @Test
  void filesArriveIntactAndDownloadsResume() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var source = source(cluster)) {
      var node = cluster.node(0);
      var content = new byte[1_000_000];
      new Random(1).nextBytes(content);
      node.snapshot.put("CURRENT", new byte[] {1, 2, 3});
      node.snapshot.put("000042.sst", content);
      var snapshot = source.open(node.id, RANGE);
      assertThat(snapshot.files())
          .containsExactlyInAnyOrder(
              new SnapshotSource.File("CURRENT", 3, Arrays.hashCode(new byte[] {1, 2, 3})),
              new SnapshotSource.File("000042.sst", content.length, Arrays.hashCode(content)));
      var fetched = new ByteArrayOutputStream();
      for (int at = 0; at < content.length; ) {
        int length = Math.min(SnapshotSource.CHUNK_BYTES_MAX, content.length - at);
        fetched.writeBytes(source.read(node.id, snapshot.id(), "000042.sst", at, length));
        at += length;
        if (fetched.size() == length) { // after the first chunk
          node.service().close();
          assertThatThrownBy(() -> source.read(node.id, snapshot.id(), "000042.sst", 0, 10)).isInstanceOf(IOException.class);
          cluster.restart(node);
          await().atMost(Duration.ofMinutes(2)).ignoreExceptionsInstanceOf(IOException.class).until(() -> source.open(node.id, RANGE).id().equals(snapshot.id()));
        }
      }

      assertThat(fetched.toByteArray()).isEqualTo(content);
    }
  }

  @Test
  void aCurrentSnapshotIsAskedForAsSuch() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var source = source(cluster)) {
      var node = cluster.node(0);
      node.snapshot.put("CURRENT", new byte[] {1});

      assertThat(source.open(node.id, RANGE).files()).hasSize(1);
      assertThat(node.currentSnapshots).isZero();
      assertThat(source.openCurrent(node.id, RANGE).files()).hasSize(1);
      assertThat(node.currentSnapshots).isOne();
    }
  }

  @Test
  void missingFilesAreRefusedWithAReason() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var source = source(cluster)) {
      var node = cluster.node(0).id;

      assertThatThrownBy(() -> source.open(node, RangeId.firstOf("other"))).isInstanceOf(IOException.class).hasMessageContaining("has no replica here");
      assertThatThrownBy(() -> source.read(node, new UUID(7, 7), "CURRENT", 0, 1)).isInstanceOf(IOException.class).hasMessageContaining("has no 1 bytes");
      assertThatThrownBy(() -> source.open(new UUID(8, 8), RANGE)).isInstanceOf(IOException.class).hasMessageContaining("unknown address of node");
      addresses.put(node, new Peer(node, "localhost", cluster.node(1).port));
      assertThatThrownBy(() -> source.open(node, RANGE)).isInstanceOf(IOException.class).hasMessageContaining("this is node");
    }
  }

  @Test
  void garbageIsRefusedAndTheServiceContinues() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var source = source(cluster)) {
      var random = new Random(5);
      for (int i = 0; i < 50; i++) {
        var garbage = new byte[1 + random.nextInt(60)];
        random.nextBytes(garbage);
        var method = i % 2 == 0 ? ServiceMethods.OPEN_SNAPSHOT : ServiceMethods.READ_SNAPSHOT;

        assertThat(statusOf(cluster.node(0).port, method, garbage)).as("round %d", i).isEqualTo(Status.Code.INVALID_ARGUMENT);
      }
      cluster.node(0).snapshot.put("CURRENT", new byte[1]);
      assertThat(source.open(cluster.node(0).id, RANGE).files()).hasSize(1);
    }
  }

  private static Status.Code statusOf(int port, MethodDescriptor<byte[], byte[]> method, byte[] message) throws Exception {
    var channel = NettyChannelBuilder.forAddress("localhost", port, InsecureChannelCredentials.create()).build();
    try {
      var call = channel.newCall(method, CallOptions.DEFAULT);
      var end = new CompletableFuture<Status.Code>();
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              end.complete(status.getCode());
            }
          },
          new Metadata());
      call.request(2);
      call.sendMessage(message);
      call.halfClose();
      return end.get(120, TimeUnit.SECONDS);
    } finally {
      channel.shutdownNow();
    }
  }
}
