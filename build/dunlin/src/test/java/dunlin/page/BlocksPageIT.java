package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the node refuses by itself, on the page: shown, and ended. */
class BlocksPageIT extends PageOfBroker {
  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.flapping.connects-max", "2", "dunlin.flapping.block", "1h");
  }

  /** The reason code of CONNACK for a client that is not welcome for long. */
  private int connects() {
    try (var client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, true, 0, HOSTILE, RawClient.noProperties()));
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  private void isBlocked() {
    for (int i = 0; i < 2; i++) assertThat(connects()).isZero();
    assertThat(connects()).isNotZero();
  }

  @Test
  void aBlockIsShownAndEndedAfterAQuestion() throws Exception {
    isBlocked();
    signIn(Role.OPERATOR);
    view("blocks", "Blocks");
    awaitShown(HOSTILE);
    nothingBecameMarkup();

    press("#view tbody button");
    nothingBecameMarkup();
    escape();
    assertThat(api.get("/blocks/client").members("value")).containsExactly(HOSTILE);
    press("#view tbody button");
    answer("End the block");
    awaitDone("The block has ended.");

    assertThat(api.get("/blocks/client").members("value")).isEmpty();
    await("the row is gone", () -> rows() == 0);
    assertThat(connects()).isZero();
    nothingWasAskedOfOthersAndNothingFailed();
  }

  @Test
  void addressesAreOfNoTenantAndAViewerEndsNoBlock() throws Exception {
    isBlocked();
    signIn(Role.VIEWER);
    view("blocks", "Blocks");
    awaitShown(HOSTILE, "To end a block needs the role operator.");
    assertThat(js("document.querySelectorAll('#view tbody button').length")).isEqualTo("0");
    assertThat(shown()).contains("Tenant");

    choose("block-kind", "address");
    await("no address is blocked", () -> rows() == 0);
    assertThat(shown()).doesNotContain("Tenant");
    nothingWasAskedOfOthersAndNothingFailed();
  }
}
