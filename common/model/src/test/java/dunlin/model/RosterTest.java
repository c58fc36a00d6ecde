package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RosterTest {
  private static final class Member implements Roster.Placed {
    private int place = -1;

    @Override
    public int place() {
      return place;
    }

    @Override
    public void place(int at) {
      place = at;
    }
  }

  private final Roster<Member> roster = new Roster<>();

  private Set<Member> present() {
    Set<Member> present = new HashSet<>();
    for (int i = 0; i < roster.size(); i++) present.add(roster.at(i));
    return present;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void holdsAddedMembersUntilTheyAreRemoved(long seed) {
    Random random = new Random(seed);
    List<Member> model = new ArrayList<>();
    for (int step = 0; step < 2_000; step++) {
      if (model.isEmpty() || random.nextInt(5) < 3) {
        Member member = new Member();
        roster.add(member);
        model.add(member);
      } else {
        Member gone = model.remove(random.nextInt(model.size()));
        roster.remove(gone);
        assertThat(gone.place()).isEqualTo(-1);
      }
      assertThat(roster.size()).isEqualTo(model.size());
    }
    assertThat(present()).as("seed %d", seed).isEqualTo(new HashSet<>(model));
  }

  @Test
  void aPlaceBeyondTheEndIsEmpty() {
    assertThat(roster.at(0)).isNull();
    assertThat(roster.at(1_000)).isNull();
  }
}
