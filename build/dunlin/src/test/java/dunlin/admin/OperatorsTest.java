package dunlin.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.admin.peers.OperatorCopies.OperatorCopy;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The operators of two nodes that hear of each other's changes. */
class OperatorsTest {
  private static final String PASSWORD = "correct horse battery staple";

  @TempDir Path directory;

  private Operators one;
  private Operators other;

  @BeforeEach
  void open() throws IOException {
    one = opened("one");
    other = opened("other");
  }

  private Operators opened(String node) throws IOException {
    return Operators.open(Files.createDirectories(directory.resolve(node)));
  }

  /** What a turn does. */
  private static void ask(Operators asking, Operators asked) {
    asking.take("other", asked.unless(asking.digest()));
  }

  private static List<String> names(Operators of) {
    return of.getOperators().stream().map(OperatorRow::name).toList();
  }

  private static boolean letsIn(Operators node, String name, String password) throws InterruptedException {
    return node.find(name, password).isPresent();
  }

  private String file(String node) throws IOException {
    return Files.readString(directory.resolve(node).resolve(Operators.FILE));
  }

  @Test
  void nodesThatHaveAskedEachOtherHaveTheSame() throws Exception {
    one.put("vera", "viewer", PASSWORD);
    other.put("walter", "operator", PASSWORD);
    assertThat(one.digest()).isNotEqualTo(other.digest());

    ask(one, other);
    ask(other, one);

    assertThat(names(one)).containsExactly("admin", "vera", "walter").isEqualTo(names(other));
    assertThat(file("one")).isEqualTo(file("other"));
    assertThat(one.digest()).isEqualTo(other.digest());
    assertThat(one.unless(other.digest())).as("nothing is sent then").isEmpty();
    assertThat(letsIn(other, "vera", PASSWORD)).isTrue();
    assertThat(letsIn(one, "walter", PASSWORD)).isTrue();
    assertThat(opened("one").digest()).as("after a restart").isEqualTo(other.digest());
  }

  @Test
  void theLaterChangeCountsInWhateverOrderItComes() throws Exception {
    List<OperatorCopy> changes = new ArrayList<>();
    one.spreadBy(changes::add);
    one.put("vera", "viewer", PASSWORD);
    one.put("vera", "admin", PASSWORD + "2");
    one.delete("vera");
    one.put("vera", "operator", PASSWORD + "3");
    assertThat(changes).hasSize(4).extracting(OperatorCopy::version).doesNotHaveDuplicates().isSorted();

    for (OperatorCopy change : changes.reversed()) other.take("one", List.of(change));

    assertThat(other.getOperators()).contains(new OperatorRow("vera", "operator"));
    assertThat(letsIn(other, "vera", PASSWORD + "3")).isTrue();
    assertThat(letsIn(other, "vera", PASSWORD)).isFalse();
  }

  @Test
  void whoWasDeletedDoesNotComeBack() throws Exception {
    one.put("vera", "viewer", PASSWORD);
    ask(other, one);
    var found = other.find("vera", PASSWORD).orElseThrow();
    one.delete("vera");
    assertThat(other.isCurrent("vera", found)).isTrue();

    ask(one, other);
    assertThat(names(one)).containsExactly("admin");
    ask(other, one);

    assertThat(names(other)).containsExactly("admin");
    assertThat(other.isCurrent("vera", found)).as("its streams end").isFalse();
    assertThat(names(opened("other"))).containsExactly("admin");
    assertThatThrownBy(() -> other.delete("vera")).isInstanceOf(IllegalArgumentException.class);
    for (int i = 0; i < 150; i++) {
      one.take("x", List.of(new OperatorCopy("gone-" + i, "", "", 10 + i)));
    }
    assertThat(file("one").lines().filter(line -> line.contains(" - - "))).as("the latest hundred, and vera was deleted last").hasSize(100).anyMatch(line -> line.startsWith("vera"));
  }

  @Test
  void ofTheFirstOperatorsOneStays() {
    assertThat(one.digest()).isNotEqualTo(other.digest());
    ask(one, other);
    ask(other, one);
    assertThat(one.digest()).isEqualTo(other.digest());

    one.put("admin", "admin", PASSWORD);
    ask(one, other);
    ask(other, one);
    assertThat(one.digest()).as("what an operator has set counts instead").isEqualTo(other.digest());
    assertThat(one.unless("").getFirst().version()).isGreaterThan(1);
  }

  @Test
  void filesOfEarlierBuildsArePutTogether() throws Exception {
    one.put("vera", "viewer", PASSWORD);
    String earlier = file("one").lines().filter(line -> line.startsWith("vera")).findFirst().orElseThrow().replaceFirst(" [0-9]+$", "");
    Path before = Files.createDirectories(directory.resolve("before"));
    Files.writeString(before.resolve(Operators.FILE), earlier + "\n");
    Operators updated = Operators.open(before);
    assertThat(names(updated)).as("no first operator is made beside it").containsExactly("vera");
    assertThat(letsIn(updated, "vera", PASSWORD)).isTrue();

    ask(other, updated);
    ask(updated, other);

    assertThat(names(other)).containsExactly("admin", "vera").isEqualTo(names(updated));
  }

  @Test
  void whatNoNodeCanHaveMadeIsLeftOut() throws Exception {
    String verifier = one.unless("").getFirst().verifier();
    String before = one.digest();

    one.take(
        "other",
        List.of(
            new OperatorCopy("a b", "admin", verifier, 9), new OperatorCopy("a", "root", verifier, 9), new OperatorCopy("b", "admin", "none", 9),
            new OperatorCopy("c", "admin", "", 9), new OperatorCopy("d", "", verifier, 9), new OperatorCopy("e", "admin", verifier, 0)));

    assertThat(one.digest()).isEqualTo(before);
    List<OperatorCopy> many = new ArrayList<>();
    for (int i = 0; i < 100; i++) many.add(new OperatorCopy("operator-" + i, "viewer", verifier, 9));
    one.take("other", many);
    assertThat(names(one)).as("more than there may be").containsExactly("admin");
    for (String line : List.of("vera viewer", "vera viewer none", "vera viewer " + verifier + " x", "vera root " + verifier + " 9", "vera - " + verifier + " 9")) {
      Path wrong = Files.createDirectories(directory.resolve("wrong"));
      Files.writeString(wrong.resolve(Operators.FILE), line + "\n");
      assertThatThrownBy(() -> Operators.open(wrong)).as(line).isInstanceOf(SettingException.class).hasMessageContaining("line 1");
    }
  }
}
