package dunlin.dist;

import static dunlin.dist.DistTier.FRONTEND;
import static dunlin.dist.DistTier.TENANT;
import static dunlin.dist.DistTier.route;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.DistTier.Recorder;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.transport.Lane;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which shard gets the messages of a shared subscription. */
class DistWorkerGroupsTest {
  private final DistTier dist = new DistTier();
  private final Recorder frontend = dist.frontend;
  private final Recorder inboxes = dist.inboxes;
  private final Lane lane = dist.lane;

  @Test
  void aGroupGetsEachMessageOnceWhereThereIsCredit() {
    var shards = List.of(FRONTEND, ShardId.inbox(1), ShardId.inbox(2), ShardId.inbox(3));
    for (ShardId shard : shards) dist.add(route("$share/g/a/+", shard));
    inboxes.credit.put(ShardId.inbox(2), 1);

    for (int i = 0; i < 50; i++) dist.publish("a/b");

    assertThat(inboxes.of(ShardId.inbox(2))).isEqualTo(50);
    assertThat(inboxes.delivered).hasSize(50);
    assertThat(frontend.delivered).isEmpty();
  }

  @Test
  void aGroupsMessageGoesToAShardThatCanSendItBeforeOneThatKeepsIt() {
    dist.add(route("$share/g/a", FRONTEND));
    for (int i = 1; i <= 6; i++) {
      dist.add(route("$share/g/a", ShardId.inbox(i)));
      inboxes.credit.put(ShardId.inbox(i), 1);
    }
    frontend.credit.put(FRONTEND, 2);

    for (int i = 0; i < 50; i++) dist.publish("a");

    assertThat(frontend.delivered).hasSize(50);
    assertThat(inboxes.delivered).isEmpty();
  }

  @Test
  void aGroupSpreadsOverShardsAsTheyHaveCredit() {
    var shards = List.of(ShardId.inbox(1), ShardId.inbox(2), ShardId.inbox(3), ShardId.inbox(4));
    for (ShardId shard : shards) {
      dist.add(route("$share/g/a", shard));
      inboxes.credit.put(shard, 10);
    }
    for (int i = 0; i < 1_000; i++) dist.publish("a");
    for (ShardId shard : shards) assertThat(inboxes.of(shard)).as("%s", shard).isBetween(150, 350);
    inboxes.delivered.clear();

    inboxes.credit.put(ShardId.inbox(1), 100);
    for (int i = 0; i < 1_000; i++) dist.publish("a");

    // One of the two choices in half of the draws out of four, and then picked ten times of eleven.
    assertThat(inboxes.of(ShardId.inbox(1))).isBetween(350, 560);
  }

  /** A single member of a shard gets as much as each of three in another one. */
  @Test
  void aShardWithThreeTimesTheCreditGetsThreeTimesTheMessages() {
    dist.add(route("$share/g/a", ShardId.inbox(1)), route("$share/g/a", ShardId.inbox(2)));
    inboxes.credit.put(ShardId.inbox(1), 768);
    inboxes.credit.put(ShardId.inbox(2), 256);

    for (int i = 0; i < 4_000; i++) dist.publish("a");

    assertThat(inboxes.of(ShardId.inbox(2))).isBetween(850, 1_150);
  }

  @Test
  void aGroupWithoutCreditStillGetsItsMessage() {
    dist.add(route("$share/g/a", ShardId.inbox(1)), route("$share/g/a", ShardId.inbox(2)));
    dist.add(route("$share/g/a", ShardId.frontend("gone")));

    for (int i = 0; i < 20; i++) assertThat(dist.publish("a").matched()).isTrue();

    assertThat(inboxes.delivered).hasSize(20).allMatch(d -> d.shards().size() == 1);
    assertThat(dist.counted("dunlin.dist.unattached")).isZero();
  }

  @Test
  void groupsAndPlainRoutesOfAFilterAreIndependent() {
    dist.add(route("a", FRONTEND), route("$share/g/a", FRONTEND), route("$share/h/a", FRONTEND), route("$oshare/g/a", FRONTEND));

    dist.publish("a");

    assertThat(frontend.delivered).hasSize(1);
    assertThat(frontend.delivered.getFirst().shards()).hasSize(4);
  }

  @Test
  void anOrderedGroupKeepsAPublisherAtItsShard() {
    var shards = List.of(ShardId.inbox(1), ShardId.inbox(2), ShardId.inbox(3), FRONTEND);
    for (ShardId shard : shards) dist.add(route("$oshare/g/a/+", shard));
    var stays = new HashMap<String, ShardId>();
    for (int client = 0; client < 200; client++) stays.put("client" + client, pickedFor("client" + client));
    assertThat(stays.values()).as("all shards are used").containsAll(shards);

    inboxes.credit.put(ShardId.inbox(1), 1_000);
    stays.forEach((client, shard) -> assertThat(pickedFor(client)).isEqualTo(shard));
    dist.remove(route("$oshare/g/a/+", ShardId.inbox(2)));

    stays.forEach(
        (client, shard) -> {
          if (!shard.equals(ShardId.inbox(2))) assertThat(pickedFor(client)).isEqualTo(shard);
          else assertThat(pickedFor(client)).isNotEqualTo(shard);
        });
  }

  private ShardId pickedFor(String client) {
    frontend.delivered.clear();
    inboxes.delivered.clear();
    var publisher = new Publisher(TENANT, client);
    lane.append(Publication.of(publisher, "a/b", QoS.AT_MOST_ONCE, false, 0, new byte[0]), null, null);
    var all = new ArrayList<>(frontend.delivered);
    all.addAll(inboxes.delivered);
    assertThat(all).hasSize(1);
    assertThat(all.getFirst().shards()).hasSize(1);
    return all.getFirst().shards().getFirst();
  }
}
