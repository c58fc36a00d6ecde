package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the last member of a group has not acknowledged when its broker is stopped. */
class LastMembersAtStopIT {
  /** The broker waits for it before it ends. */
  @Test
  void goesToTheMemberAtAnotherBroker(@TempDir Path directory) {
    try (var members = new LastMembers(directory)) {
      var leaving = members.member(2, "leaving", "$share/g/stop", 1);
      members.publish("stop", 1);
      var staying = members.member(1, "staying", "$share/g/stop", 1);

      members.cluster.brokers().get(2).close();

      leaving.close();
      assertThat(members.taken(staying, "stop", LastMembers.MESSAGES)).containsExactlyInAnyOrderElementsOf(LastMembers.messages(1));
      staying.disconnect();
    }
  }
}
