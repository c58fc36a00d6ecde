package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.KeyInterval;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.ReplicaRole;
import dunlin.store.disk.GroupStorage;
import dunlin.store.raft.FreePort;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which identifiers the replicas bear that are made for operations. */
class LocalReplicasTest {
  private static final Duration DEADLINE = Duration.ofMinutes(1);
  private static final UUID OPERATION = new UUID(5, 5);
  private static final RangeId ID = RangeId.firstOf(Ledger.KIND);
  private static final Member OTHER = new Member(new UUID(8, 8), "127.0.0.1", FreePort.find());
  private static final RangeDescriptor RANGE =
      new RangeDescriptor(ID.uuid(), Ledger.KIND, KeyInterval.all(), 1, List.of(OTHER.node()), null);

  @TempDir Path directory;
  private final int port = FreePort.find();
  private Runnable opening = () -> {};
  private RangeStore store;
  private LocalReplicas replicas;

  @BeforeEach
  void open() {
    var settings = StoreSettings.defaults().with(ClusterSettings.loopback(port));
    store = RangeStore.open(settings, directory, new SimpleMeterRegistry());
    var kind = new RangeKind<Ledger.Entry, String, Ledger>(Ledger.KIND, Ledger.CODEC, _ -> new Ledger(opening), (_, _) -> {});
    var notes = CreationNotes.open(directory.resolve("notes"), store.stored());
    replicas = new LocalReplicas(store, List.of(kind), notes, () -> {});
    replicas.declareStored();
    store.start(DEADLINE);
  }

  @AfterEach
  void close() {
    store.close();
    await().atMost(DEADLINE).until(() -> TestCluster.isReleased(directory));
  }

  /** The lost one may have voted, and an operation would take this one for its own, which has not. */
  @Test
  void aReplicaThatTakesThePlaceOfALostOneIsNotTheOperationsOwn() throws IOException {
    create();
    assertThat(creation()).isEqualTo(OPERATION);
    lose();

    create();
    var another = creation();
    assertThat(another).isNotEqualTo(OPERATION);
    assertThat(role()).isEqualTo(ReplicaRole.OUTSIDE);
    close();
    open();
    assertThat(creation()).as("after a restart").isEqualTo(another);
    lose();
    create();
    assertThat(creation()).as("lost twice").isNotIn(OPERATION, another);

    replicas.drop(ID.uuid(), DEADLINE);
    create();
    assertThat(creation()).as("what was dropped is not lost").isEqualTo(OPERATION);
  }

  @Test
  void aFailedCreationDoesNotMakeANodeForgetThatItHasLostAReplica() throws IOException {
    create();
    lose();
    opening =
        () -> {
          throw new IllegalStateException("cannot be opened");
        };
    assertThatThrownBy(this::create).hasStackTraceContaining("cannot be opened");
    opening = () -> {};
    close();
    open();

    create();

    assertThat(creation()).isNotEqualTo(OPERATION);
  }

  private void create() {
    replicas.create(RANGE, OPERATION, List.of(OTHER), DEADLINE);
  }

  private void lose() throws IOException {
    close();
    for (String part : List.of("raft", "ranges"))
      GroupStorage.deleteTree(directory.resolve(part).resolve(ID.uuid().toString()));
    open();
    assertThat(role()).isEqualTo(ReplicaRole.QUARANTINED);
  }

  private UUID creation() {
    return replicas.find(ID.uuid()).orElseThrow().note().creation();
  }

  private ReplicaRole role() {
    return replicas.find(ID.uuid()).orElseThrow().replica().status().role();
  }
}
