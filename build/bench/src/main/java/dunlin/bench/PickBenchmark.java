package dunlin.bench;

import dunlin.model.HashRing;
import dunlin.model.Roster;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures how the costs of a shared subscription's group grow with its members: the pick of a member for a message,
 * the look-up of the member that a publisher stays with, and a member's join and leave.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = "-XX:+UseCompactObjectHeaders")
public class PickBenchmark {
  private static final int PUBLISHERS = 1_024;

  @Param({"8", "400", "40000"})
  public int members;

  private final Roster<Member> roster = new Roster<>();
  private final HashRing<Member> ring = new HashRing<>();
  private final String[] publishers = new String[PUBLISHERS];
  private final Member passer = new Member("passer");
  private int next;

  /** A member and the number of messages that wait for it, which other threads change in the broker. */
  static final class Member implements Roster.Placed {
    private final String clientId;
    private final AtomicInteger load = new AtomicInteger();
    private int place = -1;

    private Member(String clientId) {
      this.clientId = clientId;
    }

    @Override
    public int place() {
      return place;
    }

    @Override
    public void place(int newPlace) {
      place = newPlace;
    }
  }

  @Setup
  public void fill() {
    for (int i = 0; i < members; i++) {
      Member member = new Member("member " + i);
      member.load.set(i % 7);
      roster.add(member);
      ring.add(member.clientId, member);
    }
    for (int i = 0; i < PUBLISHERS; i++) publishers[i] = "publisher " + i;
  }

  @Benchmark
  public @Nullable Member twoChoices() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    int first = random.nextInt(members);
    int second = random.nextInt(members - 1);
    if (second >= first) second++;
    Member one = roster.at(first);
    Member other = roster.at(second);
    if (one == null || other == null) return null;
    return other.load.getOpaque() < one.load.getOpaque() ? other : one;
  }

  @Benchmark
  public @Nullable Member stayWithMember() {
    return ring.find(publishers[next++ & (PUBLISHERS - 1)]);
  }

  @Benchmark
  public int joinAndLeave() {
    roster.add(passer);
    roster.remove(passer);
    return roster.size();
  }

  @Benchmark
  public @Nullable Member joinAndLeaveOrdered() {
    ring.add(passer.clientId, passer);
    ring.remove(passer.clientId, passer);
    return ring.find(publishers[0]);
  }
}
