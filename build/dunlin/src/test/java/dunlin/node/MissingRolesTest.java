package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.node.NodeRoles.Role;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.ClusterNode.State;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class MissingRolesTest {
  private final TreeMap<UUID, ClusterNode> nodes = new TreeMap<>();

  private void node(int number, State state, Role... roles) {
    var id = new UUID(0, number);
    var words = new NodeRoles(Set.of(roles)).member(false).words();
    nodes.put(id, ClusterNode.joining(id, "host", Map.of(), words, "", "").in(state));
  }

  private ClusterMap map() {
    return new ClusterMap(1, new UUID(0, 9), nodes, new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
  }

  @Test
  void nothingIsMissingWhileNoNodeIsKnown() {
    assertThat(MissingRoles.in(ClusterMap.empty())).isEmpty();
  }

  @Test
  void aNodeWithAllRolesLacksNone() {
    node(1, State.JOINED, Role.values());

    assertThat(MissingRoles.in(map())).isEmpty();
  }

  @Test
  void rolesOfDeadNodesAndOfThoseThatHaveLeftAreMissing() {
    node(1, State.JOINED, Role.STORE);
    node(2, State.SUSPECT, Role.FRONTEND);
    node(3, State.DOWN, Role.DIST);
    node(4, State.LEFT, Role.RETAIN);
    node(5, State.DRAINING, Role.INBOX);

    assertThat(MissingRoles.in(map())).containsExactly("dist", "retain");
  }

  @Test
  void eachMissingRoleIsASentence() {
    node(1, State.JOINED, Role.STORE, Role.RETAIN, Role.INBOX);

    assertThat(new MissingRoles(this::map, () -> true).sentences())
        .containsExactly(
            "no node of the cluster has the role frontend: no client can connect",
            "no node of the cluster has the role dist: nodes with the role store lead in its place");
  }
}
