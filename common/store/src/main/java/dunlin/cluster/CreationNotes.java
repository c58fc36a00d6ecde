package dunlin.cluster;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.disk.DurableFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** For each replica of this node: the operation that created it, and the range's descriptor at that time. One small file each. */
final class CreationNotes {
  /*
   * Owner: any thread; one at a time for each range.
   * Bounds: one file for each replica.
   * Failure: a note is written before its replica is made and deleted after that is gone, so a crash leaves a note too
   * many; the next start drops those. A damaged note stops the start: without it, an operation could drop a replica
   * that it did not create.
   */
  private static final int FORMAT = 1;

  /** @param creation the operation, or {@link dunlin.placement.NodeReport#ORIGINAL} */
  record Note(RangeDescriptor range, UUID creation) {}

  private final Path directory;
  private final ConcurrentMap<UUID, Note> notes = new ConcurrentHashMap<>();

  private CreationNotes(Path directory) {
    this.directory = directory;
  }

  /** @param stored the ranges that have a replica here: the notes of others are dropped */
  static CreationNotes open(Path directory, Collection<UUID> stored) {
    var opened = new CreationNotes(directory);
    for (UUID range : opened.onDisk()) {
      if (stored.contains(range)) opened.notes.put(range, opened.read(range));
      else opened.file(range).delete();
    }
    return opened;
  }

  Optional<Note> find(UUID range) {
    return Optional.ofNullable(notes.get(range));
  }

  void put(Note note) {
    file(note.range.id())
        .write(
            FieldWriter.bytesOf(
                out -> {
                  out.octet(FORMAT);
                  note.range.writeTo(out);
                  out.uuid(note.creation);
                }));
    notes.put(note.range.id(), note);
  }

  void remove(UUID range) {
    file(range).delete();
    notes.remove(range);
  }

  private Note read(UUID range) {
    byte[] bytes = file(range).read().orElseThrow(() -> new StoreException("the note of range " + range + " is missing"));
    return FieldReader.read(
        bytes,
        in -> {
          in.format(FORMAT, "note of a replica");
          return new Note(RangeDescriptor.readFrom(in), in.uuid());
        });
  }

  private Collection<UUID> onDisk() {
    if (!Files.isDirectory(directory)) return List.of();
    try (var found = Files.list(directory)) {
      return found
          .map(path -> String.valueOf(path.getFileName()))
          .filter(name -> name.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"))
          .map(UUID::fromString)
          .toList();
    } catch (IOException e) {
      throw new StoreException("the notes in " + directory + " cannot be listed: " + e.getMessage(), e);
    }
  }

  private DurableFile file(UUID range) {
    return new DurableFile(directory.resolve(range.toString()));
  }
}
