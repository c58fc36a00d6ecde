package dunlin.admin.doctor;

import static dunlin.admin.doctor.Verdicts.verdict;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.doctor.RangeChecks.Replica;
import dunlin.cluster.ClusterMXBean.OperationRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Replicas and ranges that are well, and some that are not; and the machine's Java. */
class RangeChecksTest {
  private static final long GIB = 1L << 30;

  private static Replica replica(String name, String role, String leader, double commitMillisMax) {
    return new Replica(name, role, leader, commitMillisMax);
  }

  private static RangeRow range(String kind, String leader) {
    return new RangeRow("9d1f", kind, "00-ff", 1, List.of("a", "b", "c"), leader);
  }

  @Test
  void aReplicaServesAndKnowsItsLeader() {
    verdict(RangeChecks.replicas(List.of(replica("inbox-0", "leader", "a", 2), replica("dist-0", "follower", "b", 0))), DoctorMXBean.OK, "2 replicas");
    verdict(RangeChecks.replicas(List.of(replica("new-0", "outside", "", 0))), DoctorMXBean.OK);
    verdict(RangeChecks.replicas(List.of(replica("inbox-0", "candidate", "", 2), replica("dist-0", "follower", "b", 0))), DoctorMXBean.WRONG, "stored there: inbox-0.");
    verdict(RangeChecks.replicas(List.of(replica("inbox-0", "quarantined", "", 2))), DoctorMXBean.WRONG, "inbox-0 is quarantined");
    verdict(RangeChecks.replicas(List.of(replica("inbox-0", "stopped", "a", 2))), DoctorMXBean.WRONG, "inbox-0 is stopped");
  }

  @Test
  void commandsAreStoredInTime() {
    verdict(RangeChecks.commits(List.of(replica("a", "follower", "b", 0))), DoctorMXBean.OK, "Nothing was proposed");
    verdict(RangeChecks.commits(List.of(replica("a", "leader", "a", 12), replica("b", "leader", "a", 40))), DoctorMXBean.OK, "took 40 ms", "in the range b");
    verdict(RangeChecks.commits(List.of(replica("a", "leader", "a", 1_500), replica("b", "leader", "a", 40))), DoctorMXBean.WARNING, "took 1500 ms", "in the range a");
    verdict(RangeChecks.commits(List.of(replica("a", "leader", "a", Double.NaN))), DoctorMXBean.OK, "Nothing was proposed");
  }

  @Test
  void theNodeReachesTheCluster() {
    verdict(RangeChecks.membership(true, List.of()), DoctorMXBean.OK);
    verdict(RangeChecks.membership(true, List.of("b")), DoctorMXBean.WARNING, "do not answer this one: b.");
    verdict(RangeChecks.membership(false, List.of("b")), DoctorMXBean.WRONG, "does not reach the leader");
  }

  @Test
  void aRoleWithoutANodeIsNamed() {
    verdict(RangeChecks.roles(List.of()), DoctorMXBean.OK);
    verdict(RangeChecks.roles(List.of("dist")), DoctorMXBean.WARNING, "the role dist.", "store lead");
    verdict(RangeChecks.roles(List.of("retain", "inbox")), DoctorMXBean.WARNING, "any of the roles retain, inbox.");
    verdict(RangeChecks.roles(List.of("frontend", "dist")), DoctorMXBean.WRONG, "frontend, dist, so no client can connect");
  }

  @Test
  void everyRangeHasALeaderAndItsReplicas() {
    verdict(RangeChecks.ranges(List.of(range("inbox", "a"), range("dist", "b")), 0), DoctorMXBean.OK, "All 2 ranges");
    verdict(RangeChecks.ranges(List.of(range("inbox", "a")), 2), DoctorMXBean.WARNING, "2 replicas are missing");
    verdict(RangeChecks.ranges(List.of(range("inbox", ""), range("dist", "b")), 2), DoctorMXBean.WRONG, "1 of 2 ranges", "stored there: inbox 9d1f.");
    List<RangeRow> many = IntStream.range(0, 1_000).mapToObj(_ -> range("dist", "")).toList();
    verdict(RangeChecks.ranges(many, 0), DoctorMXBean.WRONG, "and 995 more.");
    assertThat(RangeChecks.ranges(many, 0).finding()).hasSizeLessThan(300);
  }

  private static OperationRow operation(String what, String waiting) {
    return new OperationRow("1", what, "", false, 1, 2, "replicas move to other nodes", 3, "replicas", 4, waiting);
  }

  @Test
  void anOperationThatWaitsIsNamed() {
    verdict(RangeChecks.operations(List.of(operation("drain", ""))), DoctorMXBean.OK, "1 are in progress");
    List<OperationRow> stalled = List.of(operation("drain of node b", "no node has room"));
    verdict(RangeChecks.operations(stalled), DoctorMXBean.WARNING, "drain of node b: no node has room");
  }

  private static RunningJava java(long heap, boolean nativeAccess, String... collectors) {
    return new RunningJava("25.0.1", heap, heap, List.of(collectors), nativeAccess);
  }

  @Test
  void javaIsStartedAsItShouldBe() {
    verdict(java(GIB, true, "G1 Young Generation").java(), DoctorMXBean.OK, "25.0.1");
    verdict(java(GIB, false, "G1 Young Generation").java(), DoctorMXBean.WARNING, "--enable-native-access");
    verdict(java(8 * GIB, true, "G1 Young Generation", "G1 Old Generation").collector(), DoctorMXBean.OK, "is G1", "8192 MiB");
    verdict(java(8 * GIB, true, "ZGC Minor Cycles", "ZGC Major Cycles").collector(), DoctorMXBean.OK, "is ZGC");
    verdict(java(GIB, true, "Copy", "MarkSweepCompact").collector(), DoctorMXBean.OK, "is Serial");
    verdict(java(8 * GIB, true, "Copy", "MarkSweepCompact").collector(), DoctorMXBean.WARNING, "is Serial");
    verdict(java(4 * GIB, true, "PS MarkSweep", "PS Scavenge").collector(), DoctorMXBean.WARNING, "is Parallel", "4096 MiB");
    RunningJava here = RunningJava.ofThisProcess();
    assertThat(here.version()).startsWith("25");
    assertThat(here.directMax()).isPositive();
    assertThat(here.collectors()).isNotEmpty();
    assertThat(here.nativeAccess()).as("the flags of the tests are those of bin/dunlin").isTrue();
  }
}
