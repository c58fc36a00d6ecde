package dunlin.placement;

import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a node does once it has asked all seeds for their identity: join the existing cluster, found one, wait, or give
 * up.
 *
 * <p>A cluster is founded by one node only, provided that all nodes have the same seeds and the same number to expect: every
 * seed must have answered, all must be empty, and the lowest identifier of them founds. A seed may be this node under any of
 * its names: identifiers are compared, never addresses.
 */
public final class BootstrapRule {
  private BootstrapRule() {}

  /** A seed's answer. */
  public sealed interface Hello {
    /** @param why the call failed, or what answered instead of a node */
    record Unreachable(String seed, String why) implements Hello {}

    /** A node that belongs to no cluster. */
    record Empty(String seed, UUID node) implements Hello {}

    record Member(String seed, UUID node, UUID cluster) implements Hello {}
  }

  /** What the node does next. */
  public sealed interface Decision {
    /** @param via seeds that are members; empty when no seed is and this node was a member before */
    record Join(UUID cluster, List<String> via) implements Decision {}

    /** Ask again later. */
    record Wait(String why) implements Decision {}

    /** @param nodes all nodes that the cluster begins with, this one among them */
    record Found(List<UUID> nodes) implements Decision {}

    /** An operator has to act. */
    record Refuse(String sentence) implements Decision {}
  }

  /**
   * @param self this node
   * @param own the cluster that this node's directory belongs to, or null when it is empty
   * @param expect how many nodes a cluster is founded with
   * @param answers one for each seed
   */
  public static Decision decide(UUID self, @Nullable UUID own, int expect, List<Hello> answers) {
    if (expect < 1) throw new IllegalArgumentException("dunlin.cluster.bootstrap-expect is " + expect + ", must be at least 1");
    var members = answers.stream().filter(Hello.Member.class::isInstance).map(Hello.Member.class::cast).toList();
    for (var member : members) {
      var first = own == null ? members.getFirst().cluster() : own;
      if (!member.cluster().equals(first))
        return new Decision.Refuse(
            "seed " + member.seed() + " belongs to cluster " + member.cluster()
                + (own == null ? ", seed " + members.getFirst().seed() + " to cluster " : ", this node to cluster ") + first
                + ": name the seeds of one cluster only");
    }
    var via = members.stream().filter(member -> !member.node().equals(self)).map(Hello.Member::seed).toList();
    if (own != null) return new Decision.Join(own, via);
    if (!members.isEmpty()) return new Decision.Join(members.getFirst().cluster(), via);
    return found(self, expect, answers);
  }

  private static Decision found(UUID self, int expect, List<Hello> answers) {
    var empty = new TreeSet<UUID>();
    for (var answer : answers) {
      switch (answer) {
        case Hello.Unreachable(var seed, var why) -> {
          return new Decision.Wait("seed " + seed + " does not answer as a node does, and no seed belongs to a cluster: " + why);
        }
        case Hello.Empty(_, var node) -> empty.add(node);
        case Hello.Member _ -> throw new IllegalStateException("members were looked at before");
      }
    }
    if (answers.isEmpty() && expect == 1) empty.add(self); // a single node needs no seeds
    if (!empty.contains(self)) return new Decision.Wait("this node is none of the seeds, and no seed belongs to a cluster");
    if (empty.size() < expect)
      return new Decision.Wait("the seeds are " + empty.size() + " nodes, dunlin.cluster.bootstrap-expect is " + expect);
    if (empty.size() > expect)
      return new Decision.Refuse(
          "the seeds are " + empty.size() + " nodes and dunlin.cluster.bootstrap-expect is " + expect
              + ": to found a cluster both must agree, on every node");
    if (!empty.first().equals(self)) return new Decision.Wait("node " + empty.first() + " founds the cluster");
    return new Decision.Found(List.copyOf(empty));
  }
}
