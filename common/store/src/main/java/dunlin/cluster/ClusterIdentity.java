package dunlin.cluster;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.disk.DurableFile;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;

/**
 * Which cluster a data directory belongs to, for ever; kept in the directory.
 *
 * @param founding whether this node is still founding the cluster: only such a node may create a meta group
 */
record ClusterIdentity(UUID cluster, boolean founding) {
  private static final String FILE = "identity";
  private static final int FORMAT = 1;

  static Optional<ClusterIdentity> read(Path directory) {
    return file(directory)
        .read()
        .map(
            bytes ->
                FieldReader.read(
                    bytes,
                    in -> {
                      in.format(FORMAT, "identity of a cluster");
                      return new ClusterIdentity(in.uuid(), in.flag());
                    }));
  }

  void write(Path directory) {
    file(directory)
        .write(
            FieldWriter.bytesOf(
                out -> {
                  out.octet(FORMAT);
                  out.uuid(cluster);
                  out.flag(founding);
                }));
  }

  private static DurableFile file(Path directory) {
    return new DurableFile(directory.resolve(FILE));
  }
}
