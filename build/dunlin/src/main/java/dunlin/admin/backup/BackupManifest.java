package dunlin.admin.backup;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dunlin.store.KeyInterval;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.backup.CopiedFile;
import dunlin.store.backup.CopiedRange;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.NodeIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is in a backup: {@code manifest.json}, which is for people too, and {@code manifest.sha256} with its checksum. A backup without them is not complete.
 *
 * @param format of the backup
 * @param dataFormat of the rows, which is that of data directories
 * @param version of Dunlin
 * @param made when it was begun, in ISO format
 * @param cluster the cluster's id; null for a broker that ran alone
 * @param node that has made it
 * @param files of the node beside its store
 */
record BackupManifest(
    int format, int dataFormat, String version, String made, @Nullable String cluster, String node, List<RangeRow> ranges, List<CopiedFile> files) {
  static final int FORMAT = 1;
  static final String FILE = "manifest.json";
  private static final String CHECKSUM_FILE = "manifest.sha256";
  private static final int BYTES_MAX = 64 * 1024 * 1024;

  /**
   * One range.
   *
   * @param start the lowest key, in hexadecimal; null for a range of a broker that ran alone
   * @param end the key behind the highest, in hexadecimal; null when there is no end
   */
  record RangeRow(
      String kind, String id, @Nullable String start, @Nullable String end, long epoch, long term, long index, long rows, long bytes, List<CopiedFile> files) {
    RangeRow {
      files = List.copyOf(files);
    }

    static RangeRow of(CopiedRange copied) {
      KeyInterval keys = copied.keysOrNull();
      byte[] end = keys == null ? null : keys.end();
      return new RangeRow(
          copied.range().kind(), copied.range().uuid().toString(), keys == null ? null : HexFormat.of().formatHex(keys.start()),
          end == null ? null : HexFormat.of().formatHex(end), copied.epoch(), copied.term(), copied.index(), copied.rows(), copied.bytes(), copied.files());
    }

    CopiedRange copied() {
      String from = start;
      String to = end;
      KeyInterval keys = from == null ? null : KeyInterval.between(HexFormat.of().parseHex(from), to == null ? null : HexFormat.of().parseHex(to));
      return new CopiedRange(new RangeId(kind, UUID.fromString(id)), keys, epoch, term, index, rows, files);
    }
  }

  BackupManifest {
    ranges = List.copyOf(ranges);
    files = List.copyOf(files);
  }

  List<CopiedRange> copied() {
    return ranges.stream().map(RangeRow::copied).toList();
  }

  /** Writes both files; on disk when this returns. */
  void write(Path directory) throws IOException {
    Gson gson = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();
    write(directory.resolve(FILE), gson.toJson(this) + "\n");
    write(directory.resolve(CHECKSUM_FILE), CopiedFile.of(directory.resolve(FILE)).sha256() + "\n");
  }

  private static void write(Path file, String text) throws IOException {
    DataDirectory.createFile(file);
    try (FileChannel out = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (ByteBuffer in = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)); in.hasRemaining(); ) out.write(in);
      out.force(true);
    }
  }

  /**
   * Reads the manifest of a backup.
   *
   * @throws StoreException with a sentence when this is no complete backup, the manifest is damaged, or one of the formats is not that of this version
   */
  static BackupManifest read(Path backup) throws IOException {
    if (!Files.isDirectory(backup)) throw new StoreException("there is no directory " + backup);
    Path file = backup.resolve(FILE);
    Path checksum = backup.resolve(CHECKSUM_FILE);
    for (Path each : List.of(file, checksum)) if (!Files.isRegularFile(each)) throw new StoreException(backup + " is no complete backup: it has no " + each.getFileName());
    if (Files.size(file) > BYTES_MAX) throw new StoreException("the file " + file + " has more than " + BYTES_MAX + " bytes");
    if (!CopiedFile.of(file).sha256().equals(new String(Files.readAllBytes(checksum), StandardCharsets.ISO_8859_1).strip())) {
      throw new StoreException("the file " + file + " of the backup is damaged: its SHA-256 is not the one in " + CHECKSUM_FILE);
    }
    return parse(file);
  }

  private static BackupManifest parse(Path file) throws IOException {
    BackupManifest manifest;
    try {
      JsonObject json = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
      requireFormat("the backup", json.get("format").getAsInt(), FORMAT);
      requireFormat("the data in the backup", json.get("dataFormat").getAsInt(), NodeIdentity.format());
      manifest = new Gson().fromJson(json, BackupManifest.class);
      var _ = manifest.copied();
    } catch (StoreException refused) {
      throw refused;
    } catch (RuntimeException wrong) { // whatever is missing in it, or not what it should be
      throw new StoreException("the file " + file + " is not the manifest of a backup", wrong);
    }
    return manifest;
  }

  private static void requireFormat(String what, int found, int known) {
    if (found != known) {
      throw new StoreException(
          "%s has format %d, and this version of Dunlin reads format %d; restore it with %s version".formatted(what, found, known, found > known ? "a newer" : "an older"));
    }
  }
}
