package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.rows.GroupKey;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class GroupDrainsTest {
  private final List<GroupKey> proposed = new ArrayList<>();
  private int room = Integer.MAX_VALUE;
  private final GroupDrains drains =
      new GroupDrains(
          group -> {
            if (proposed.size() >= room) return false;
            proposed.add(group);
            return true;
          });

  private static GroupKey group(int number) {
    return new GroupKey("default", TopicFilter.parse("$share/g" + number + "/a").orElseThrow());
  }

  @Test
  void oneStepOfAGroupIsInProgressAtATime() {
    drains.ask(List.of(group(1), group(1), group(2)));
    assertThat(proposed).containsExactly(group(1), group(2));

    drains.ended(group(1));
    drains.ended(group(2));
    drains.ended(group(1));

    assertThat(proposed).containsExactly(group(1), group(2), group(1));
    assertThat(drains.waiting()).isZero();
  }

  @Test
  void aRefusedStepIsProposedAgain() {
    drains.ask(List.of(group(1)));
    for (int i = 0; i < 3; i++) {
      drains.refused(group(1));
      assertThat(drains.waiting()).isEqualTo(1);
      drains.again();
    }
    drains.ended(group(1));
    drains.again();

    assertThat(proposed).hasSize(4);
    assertThat(drains.waiting()).isZero();
  }

  @Test
  void aFullRangeLosesNoGroup() {
    room = 1;
    drains.ask(List.of(group(1), group(2), group(3)));
    drains.again();
    assertThat(drains.waiting()).isEqualTo(2);
    room = 3;
    drains.again();

    assertThat(proposed).containsExactlyInAnyOrder(group(1), group(2), group(3));
    assertThat(drains.waiting()).isZero();
  }
}
