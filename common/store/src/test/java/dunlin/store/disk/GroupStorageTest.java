package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.Member;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.server.raftlog.RaftLog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GroupStorageTest {
  @TempDir Path directory;

  /** Ratis forgets the peers of truncated entries; entry 0 is truncated when two leaders have written it. */
  @Test
  void thePeersOfANewGroupHaveAnIndexThatIsNeverTruncated() throws IOException {
    var node = new UUID(1, 2);
    var group = directory.resolve("group");

    GroupStorage.create(group, RatisPeers.voters(List.of(new Member(node, "localhost", 7000))));

    var written = LogEntryProto.parseFrom(Files.readAllBytes(group.resolve("current").resolve("raft-meta.conf")));
    assertThat(written.getIndex()).isLessThan(RaftLog.LEAST_VALID_LOG_INDEX);
    assertThat(written.getConfigurationEntry().getPeersCount()).isEqualTo(1);
    assertThat(GroupStorage.peersIn(group)).containsExactly(node);
  }
}
