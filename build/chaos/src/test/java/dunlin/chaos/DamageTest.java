package dunlin.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.Damage.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DamageTest {
  private static final String RANGE = "01234567-89ab-8def-8123-456789abcdef";
  private static final int BYTES = 10_000;

  @TempDir Path data;

  private Path log;
  private Path rows;

  @BeforeEach
  void aReplica() throws IOException {
    log = Files.createDirectories(data.resolve("raft").resolve(RANGE).resolve("current")).resolve("log_inprogress_0");
    rows = Files.createDirectories(data.resolve("ranges").resolve(RANGE));
    byte[] bytes = new byte[BYTES];
    Arrays.fill(bytes, (byte) 1);
    Files.write(log, bytes);
    Files.write(rows.resolve("000012.sst"), bytes);
    Files.write(rows.resolve("CURRENT"), bytes);
  }

  @Test
  void aDamagedSnapshotIsInThePlaceOfTheRowsThatItReplaces() throws IOException {
    Damage.any(Kind.SNAPSHOT_CUT_SHORT, data, new Random(1));

    Path snapshot = data.resolve("ranges").resolve(RANGE + ".ready");
    assertThat(rows).doesNotExist();
    assertThat(Files.size(snapshot.resolve("000012.sst"))).isLessThan(BYTES);
    assertThat(Files.size(snapshot.resolve("CURRENT"))).isEqualTo(BYTES);
    assertThat(Files.size(log)).isEqualTo(BYTES);
  }

  @Test
  void aLogIsCutShortOrHasZeros() throws IOException {
    Damage.any(Kind.LOG_ZEROED, data, new Random(1));
    assertThat(Files.readAllBytes(log)).hasSize(BYTES).contains((byte) 0);
    Damage.any(Kind.LOG_CUT_SHORT, data, new Random(1));
    assertThat(Files.size(log)).isLessThan(BYTES);
    assertThat(Files.size(rows.resolve("000012.sst"))).isEqualTo(BYTES);
  }

  @Test
  void onlyDamageToAClosedLogMustBeFoundByAStart() throws IOException {
    for (var kind : Kind.values()) {
      var damaged = Damage.any(kind, data, new Random(1));
      assertThat(damaged.mustBeFound()).as(damaged.what()).isFalse();
      if (kind == Kind.SNAPSHOT_CUT_SHORT) continue;
      assertThat(damaged.file()).isEqualTo(kind.name().startsWith("LOG") ? log : rows.resolve("000012.sst"));
    }
    Files.write(log.resolveSibling("log_0-99"), new byte[] {1, 2, 3});
    Files.delete(log);
    assertThat(Damage.any(Kind.LOG_BIT, data, new Random(1)).mustBeFound()).isTrue();
  }

  @Test
  void aNodeWithoutFilesCannotBeDamaged() throws IOException {
    Files.delete(log);
    assertThatThrownBy(() -> Damage.any(Kind.LOG_BIT, data, new Random(1))).isInstanceOf(TrialException.class).hasMessage("there is nothing to damage");
  }
}
