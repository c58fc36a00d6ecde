package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the last member of a group at one broker has not acknowledged when it leaves, and the members at others. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LastMembersIT {
  private LastMembers members;

  @BeforeAll
  void start(@TempDir Path directory) {
    members = new LastMembers(directory);
  }

  @AfterAll
  void stop() {
    members.close();
  }

  @ParameterizedTest
  @CsvSource({"$share/g/, 1, true", "$share/g/, 1, false", "$oshare/g/, 2, true", "$share/g/, 2, false"})
  void goesToTheMemberAtAnotherBroker(String group, int broker, boolean says) {
    String topic = "left/" + group.charAt(1) + broker + says;
    double before = members.dropped(0);
    var leaving = members.member(0, "leaving", group + topic, 1);
    members.publish(topic, 1);
    var staying = members.member(broker, "staying", group + topic, 1);

    if (says) leaving.disconnect();
    else leaving.reset();

    var taken = members.taken(staying, topic, LastMembers.MESSAGES);
    assertThat(taken).containsExactlyInAnyOrderElementsOf(LastMembers.messages(1));
    if (group.startsWith("$oshare")) assertThat(taken).containsExactlyElementsOf(LastMembers.messages(1));
    assertThat(members.dropped(0)).isEqualTo(before);
    staying.disconnect();
  }

  /** What the member may have begun to take stays with it [MQTT-4.8.2-5]. */
  @Test
  void withQos2OnlyWhatTheMemberCannotHaveGoesToAnother() {
    var leaving = members.member(0, "leaving", "$share/g/exact", 2);
    members.publish("exact", 2);
    var staying = members.member(1, "staying", "$share/g/exact", 2);

    leaving.reset();

    assertThat(members.taken(staying, "exact", LastMembers.MESSAGES - LastMembers.IN_FLIGHT)).containsExactlyInAnyOrderElementsOf(LastMembers.messages(LastMembers.IN_FLIGHT + 1));
    staying.disconnect();
  }

  @Test
  void goesToADurableMember() {
    var leaving = members.member(0, "leaving", "$share/g/kept", 1);
    members.publish("kept", 1);
    var durable = members.cluster.connected(1, Connect.of("durable").clean().receiveMaximum(LastMembers.IN_FLIGHT));
    durable.subscribe("$share/g/kept", 1);

    leaving.reset();

    assertThat(members.taken(durable, "kept", LastMembers.MESSAGES)).containsExactlyInAnyOrderElementsOf(LastMembers.messages(1));
    durable.disconnect(0);
  }

  @Test
  void isDroppedAndCountedWhenThereIsNoMemberAnywhere() {
    double before = members.dropped(0);
    var leaving = members.member(0, "leaving", "$share/g/none", 1);
    var other = members.member(1, "other", "$share/h/none", 1);
    other.disconnect();
    members.publish("none", 1);

    leaving.reset();

    await("it is counted").atMost(TestBroker.SOON).until(() -> members.dropped(0) == before + LastMembers.MESSAGES);
  }
}
