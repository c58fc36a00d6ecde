package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterMap.Change.NodeIs;
import dunlin.placement.ClusterMap.Update.Changes;
import dunlin.placement.ClusterMap.Update.Whole;
import dunlin.placement.ClusterNode;
import dunlin.placement.ClusterNode.State;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node learns of its own deaths, from the maps that it receives. */
class KnownMapTest {
  private static final UUID SELF = new UUID(1, 1);
  private static final UUID OTHER = new UUID(1, 2);

  @TempDir Path directory;
  private KnownMap known;

  @BeforeEach
  void begins() {
    known = new KnownMap(directory, SELF);
  }

  private static ClusterNode node(UUID id, State state) {
    return ClusterNode.joining(id, "localhost", Map.of(), Set.of(), "", "").in(state);
  }

  /** The map is received whole: all that is known is how many changes there were. */
  private void whole(long version, State own) {
    var nodes = new TreeMap<>(Map.of(SELF, node(SELF, own), OTHER, node(OTHER, State.DOWN)));
    known.update(known.map().version(), new Whole(new ClusterMap(version, new UUID(3, 3), nodes, new TreeMap<>(), new TreeMap<>(), new TreeMap<>())));
  }

  /** Changes of a node are received, one after the other. */
  private void changes(UUID node, State... states) {
    long version = known.map().version();
    known.update(version, new Changes(version + states.length, Stream.of(states).<ClusterMap.Change>map(state -> new NodeIs(node(node, state))).toList()));
  }

  private void counted(long deaths, boolean dead) {
    assertThat(known.deaths()).isEqualTo(deaths);
    assertThat(known.isDead()).isEqualTo(dead);
  }

  @Test
  void aDeathIsCountedThatTheMapShows() {
    whole(10, State.JOINED);
    known.heard();
    changes(SELF, State.SUSPECT);
    counted(0, false);
    changes(SELF, State.DOWN);
    counted(1, true);
    changes(SELF, State.JOINED);
    counted(1, false);
  }

  /** Its routes are removed, so it may not serve clients any more; not even when it is forgotten. */
  @Test
  void whoHasLeftIsDeadForEver() {
    whole(10, State.JOINED);
    known.heard();
    changes(SELF, State.DRAINING);
    assertThat(known.hasLeft()).isFalse();
    counted(0, false);
    changes(SELF, State.LEFT);
    assertThat(known.hasLeft()).isTrue();
    counted(0, true);

    forgotten();
    assertThat(known.hasLeft()).isTrue();
    assertThat(known.isDead()).isTrue();
  }

  /** It may hear of both at a time. */
  @Test
  void whoIsForgottenHasLeft() {
    whole(10, State.DOWN);
    assertThat(known.hasLeft()).isFalse();
    forgotten();
    assertThat(known.hasLeft()).isTrue();
  }

  @Test
  void whoHasLeftIsSoAfterARestart() {
    whole(10, State.LEFT);
    known.save();
    assertThat(new KnownMap(directory, SELF).hasLeft()).isTrue();
  }

  private void forgotten() {
    long version = known.map().version();
    known.update(version, new Whole(new ClusterMap(version + 1, new UUID(3, 3), new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>())));
  }

  @Test
  void aDeathIsCountedThatWasOverBeforeTheNextMapCame() {
    whole(10, State.JOINED);
    known.heard();
    changes(OTHER, State.JOINED, State.SUSPECT, State.DOWN, State.JOINED);
    counted(0, false);
    changes(SELF, State.SUSPECT, State.JOINED);
    counted(0, false);

    changes(SELF, State.SUSPECT, State.DOWN, State.JOINED);
    counted(1, false);
    assertThat(known.map().up(SELF)).isTrue();
  }

  @Test
  void aWholeMapMayHideADeathBehindEnoughChanges() {
    whole(10, State.JOINED);
    known.heard();
    whole(12, State.JOINED);
    counted(0, false);
    whole(15, State.JOINED);
    counted(1, false);

    changes(SELF, State.SUSPECT);
    whole(17, State.SUSPECT);
    counted(1, false);
    whole(19, State.JOINED);
    counted(2, false);
    whole(20, State.DOWN);
    counted(3, true);
  }

  /** An update that is older than the map, or goes on from another one, says nothing new. */
  @Test
  void aDeathIsCountedOnce() {
    whole(10, State.JOINED);
    known.heard();
    changes(SELF, State.SUSPECT, State.DOWN);
    whole(12, State.DOWN);
    whole(11, State.DOWN);
    known.update(10, new Changes(12, List.of(new NodeIs(node(SELF, State.DOWN)))));
    counted(1, true);
  }

  /** The file of the process before says that it is up, and so may a node whose map is old. The others have seen its end. */
  @Test
  void theDeathOfTheProcessBeforeIsNotCounted() {
    whole(10, State.JOINED);
    known.save();
    known = new KnownMap(directory, SELF);
    assertThat(known.map().up(SELF)).isTrue();

    changes(SELF, State.SUSPECT, State.DOWN);
    counted(0, false);
    known.heard();
    changes(SELF, State.JOINED);
    counted(0, false);
    known.heard();
    changes(SELF, State.SUSPECT, State.DOWN, State.JOINED);
    counted(1, false);
  }
}
