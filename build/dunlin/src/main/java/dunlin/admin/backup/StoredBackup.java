package dunlin.admin.backup;

import dunlin.store.StoreException;
import dunlin.store.backup.CopiedFile;
import dunlin.store.backup.CopiedRange;
import dunlin.store.backup.RestoredRanges;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** A backup in a directory, from which the data of a new node can be made. */
public final class StoredBackup {
  /*
   * Owner: one thread. Nothing in the backup is changed.
   * Failure: a StoreException with one sentence; nothing is left of the new directory then.
   */
  static final String RANGES = "ranges";
  static final String NODE = "node";

  private final Path directory;
  private final BackupManifest manifest;
  private final RestoredRanges ranges;

  private StoredBackup(Path directory, BackupManifest manifest) {
    this.directory = directory;
    this.manifest = manifest;
    ranges = new RestoredRanges(directory.resolve(RANGES));
  }

  /** @throws StoreException when it is no complete backup, or not of a format that this version reads */
  public static StoredBackup open(Path directory) throws IOException {
    return new StoredBackup(directory, BackupManifest.read(directory));
  }

  /** When it was begun, in ISO format. */
  public String made() {
    return manifest.made();
  }

  /** The number of ranges, of rows and of bytes, for a person. */
  public String content() {
    long rows = manifest.ranges().stream().mapToLong(BackupManifest.RangeRow::rows).sum();
    long bytes = manifest.ranges().stream().mapToLong(BackupManifest.RangeRow::bytes).sum();
    return "%d ranges with %d rows in %d bytes".formatted(manifest.ranges().size(), rows, bytes);
  }

  /** Reads and compares every file. */
  public void check() throws IOException {
    ranges.check(manifest.copied());
    for (CopiedFile file : manifest.files()) file.check(directory.resolve(NODE));
  }

  /**
   * Makes the data directory of a new broker.
   *
   * @param known the files of a node beside its store
   */
  public void restore(Path to, Collection<String> known) throws IOException {
    Map<String, byte[]> files = new LinkedHashMap<>();
    for (CopiedFile file : manifest.files()) {
      if (!known.contains(file.name())) throw new StoreException("the manifest names a file of the node that this version does not know: " + file.name());
      file.check(directory.resolve(NODE));
      files.put(file.name(), Files.readAllBytes(directory.resolve(NODE).resolve(file.name())));
    }
    Collection<CopiedRange> copied = manifest.copied();
    var _ = ranges.restore(copied, files, to);
  }
}
