package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class HashRingTest {
  private static final int NAMES = 20_000;

  private final HashRing<String> ring = new HashRing<>();

  private Map<String, String> all() {
    Map<String, String> found = new HashMap<>();
    for (int i = 0; i < NAMES; i++) found.put("publisher-" + i, Objects.requireNonNull(ring.find("publisher-" + i)));
    return found;
  }

  @Test
  void withoutMembersThereIsNoResult() {
    assertThat(ring.find("publisher")).isNull();

    ring.add("a", "a");
    ring.remove("a", "a");

    assertThat(ring.find("publisher")).isNull();
  }

  @Test
  void anAddedMemberTakesOnlyItsShare() {
    for (int i = 0; i < 20; i++) ring.add("member-" + i, "member-" + i);
    Map<String, String> before = all();

    ring.add("late", "late");

    int moved = 0;
    for (Map.Entry<String, String> after : all().entrySet()) {
      if (after.getValue().equals("late")) moved++;
      else assertThat(after.getValue()).isEqualTo(before.get(after.getKey()));
    }
    assertThat(moved).isBetween(NAMES / 21 / 2, NAMES / 21 * 2);
  }

  @Test
  void aRemovedMemberDoesNotAffectOtherShares() {
    for (int i = 0; i < 20; i++) ring.add("member-" + i, "member-" + i);
    Map<String, String> before = all();

    ring.remove("member-7", "member-7");

    Map<String, String> after = all();
    before.forEach((name, member) -> {
      if (member.equals("member-7")) assertThat(after.get(name)).isNotEqualTo("member-7");
      else assertThat(after.get(name)).isEqualTo(member);
    });
  }

  @Test
  void everyMemberHasAShare() {
    for (int i = 0; i < 50; i++) ring.add("member-" + i, "member-" + i);
    Map<String, Integer> counts = new HashMap<>();
    all().values().forEach(member -> counts.merge(member, 1, Integer::sum));

    assertThat(counts).hasSize(50);
    assertThat(counts.values()).allSatisfy(count -> assertThat(count).isBetween(NAMES / 50 / 4, NAMES / 50 * 3));
  }

  /** "Aa" and "BB" have the same String.hashCode. */
  @Test
  void namesWithTheSameHashCodeBothHaveAShare() {
    ring.add("Aa", "Aa");
    ring.add("BB", "BB");

    assertThat(all().values()).contains("Aa", "BB");
  }
}
