package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.model.ReasonCode;
import dunlin.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets of one connection take effect in order, even if the client does not wait for the answers. */
class PacketOrderTest {
  private static final String PINGREQ = "c000";
  private static final String PINGRESP = "d000";

  private final OpenFrontend open = new OpenFrontend(2);

  @AfterEach
  void close() {
    open.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {0x30, 0x32, 0x34})
  void aPublishBehindASubscribeIsMatchedWhenTheRouteIsSet(int first) {
    open.dist.publishAnswer = ReasonCode.SUCCESS;
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);
    client.send(subscribe(1, "t") + publish(first) + PINGREQ);
    route(0);

    client.hearsNothing();
    assertThat(open.dist.published).isEmpty();
    open.dist.answers.getFirst().complete(null);

    client.hears("9004" + "0001" + "00" + "00" + (first == 0x30 ? "" : first == 0x32 ? "4002...." : "5002....") + PINGRESP);
    assertThat(open.dist.published).hasSize(1);
  }

  @Test
  void aPublishBehindASubscribeOfADurableSessionIsMatchedWhenItIsStored() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t") + publish(0x30));

    client.hearsNothing();
    assertThat(open.dist.published).isEmpty();
    change(0).complete(List.of(false));

    client.hears("90040001" + "0000");
    await().until(() -> open.dist.published.size() == 1);
  }

  @Test
  void aPublishBehindAnUnsubscribeOfADurableSessionIsMatchedWhenItIsStored() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t"));
    change(0).complete(List.of(false));
    client.hears("90040001" + "0000");
    client.send(unsubscribe(2, "t") + publish(0x30));

    client.hearsNothing();
    assertThat(open.dist.published).isEmpty();
    change(1).complete(List.of(true));

    client.hears("b0040002" + "0000");
    await().until(() -> open.dist.published.size() == 1);
  }

  @Test
  void subscribeAndUnsubscribeOfOneFilterWaitForEachOther() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t") + unsubscribe(2, "t") + subscribe(3, "t"));

    change(0);
    client.hearsNothing();
    assertThat(open.sessions.changes).hasSize(1);
    change(0).complete(List.of(false));
    client.hears("90040001" + "0000");
    change(1).complete(List.of(true));
    client.hears("b0040002" + "0000");
    change(2).complete(List.of(false));
    client.hears("90040003" + "0000");
  }

  @Test
  void subscribesDoNotWaitForEachOther() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t") + subscribe(2, "u"));

    change(1).complete(List.of(false));
    client.hears("90040002" + "0000");
    change(0).complete(List.of(false));
    client.hears("90040001" + "0000");
  }

  @Test
  void aMemberHasLeftItsGroupWhenItsUnsubscribeIsAnswered() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);
    String group = "$share/g/t";
    client.send(subscribe(1, group));
    route(0);
    open.dist.answers.getFirst().complete(null);
    client.hears("90040001" + "0000");

    client.send(unsubscribe(2, group) + publish(0x30));

    client.hears("b0040002" + "0000");
    await().until(() -> open.dist.published.size() == 1);
    assertThat(open.frontend().sharedSubscriptions()).isZero();
  }

  @Test
  void aSubscribeThatFailsKeepsWhatWasStoredBefore() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t"));
    change(0).complete(List.of(false));
    client.hears("90040001" + "0000");
    client.send(subscribe(2, "t"));
    change(1).completeExceptionally(new StoreException("full"));
    client.hears("90..0002.*83");

    client.send(unsubscribe(3, "t"));
    change(2).complete(List.of(true));

    client.hears("b0040003" + "0000");
  }

  @Test
  void aSubscribeThatFailsIsForgotten() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 60);
    client.send(subscribe(1, "t"));
    change(0).completeExceptionally(new StoreException("full"));
    client.hears("90..0001.*83");

    client.send(unsubscribe(2, "t"));

    client.hears("b0040002" + "0011");
  }

  @Tag("MQTT-4.3.3-4")
  @Test
  void aPubrecWithAnErrorIsNeverAnsweredByPubrel() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);
    client.send("50030005" + "87" + PINGREQ);
    client.hears(PINGRESP);

    client.send("50020005" + PINGREQ);
    client.hears("62030005" + "92" + PINGRESP);
  }

  private void route(int index) {
    await().until(() -> open.dist.answers.size() > index);
  }

  private CompletableFuture<List<Boolean>> change(int index) {
    await().until(() -> open.sessions.changes.size() > index);
    return open.sessions.changes.get(index);
  }

  private static String publish(int first) {
    return first == 0x30 ? "3005" + "000174" + "00" + "31" : LoopClient.publish(first, 9, "1");
  }

  private static String subscribe(int packetId, String filter) {
    // Retain Handling 2: no retained messages are requested.
    return "82%02x%04x00%04x%s20".formatted(filter.length() + 6, packetId, filter.length(), hex(filter));
  }

  private static String unsubscribe(int packetId, String filter) {
    return "a2%02x%04x00%04x%s".formatted(filter.length() + 5, packetId, filter.length(), hex(filter));
  }

  private static String hex(String text) {
    StringBuilder hex = new StringBuilder();
    for (char c : text.toCharArray()) hex.append("%02x".formatted((int) c));
    return hex.toString();
  }
}
