package dunlin.chaos;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** An ext4 file system for one node, in a file: it can be filled and lose power. */
public final class LoopDisk implements AutoCloseable {
  /*
   * Owner: the thread of the trial.
   * Failure: mounted in a mount namespace that ends with the harness, so that a killed harness leaves no mount.
   */
  private static final long BYTES = 256L * 1024 * 1024;
  private static final String FILLER = "dlchaos.filler";

  private final Path image;
  private final Path directory;
  private final Path powercut;
  private boolean mounted;

  /** @param powercut the program of src/main/c/powercut.c */
  public LoopDisk(Path image, Path directory, Path powercut) {
    this.image = image;
    this.directory = directory;
    this.powercut = powercut;
    try (var file = new RandomAccessFile(image.toFile(), "rw")) {
      file.setLength(BYTES);
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Programs.run("mkfs.ext4", "-q", "-F", "-m", "0", image.toString());
    mount();
  }

  /** The place for a node's data directory; not the root of the file system, which has lost+found. */
  public Path data() {
    return directory.resolve("data");
  }

  private void mount() {
    Programs.run("mount", "-o", "loop", image.toString(), directory.toString());
    mounted = true;
  }

  /** Data that is not on disk yet is lost, and every access fails from now on. */
  public void cutPower() {
    Programs.run(powercut.toString(), directory.toString());
  }

  /** Makes the disk accessible again, with the data that was written before the power loss; no files may be open. */
  public void restorePower() {
    unmount();
    mount();
  }

  private void unmount() {
    if (!mounted) return;
    // A killed process may still be closing its files.
    Cluster.await(
        "unmount " + directory,
        Duration.ofSeconds(20),
        () -> {
          try {
            Programs.run("umount", directory.toString());
            return Optional.of(true);
          } catch (TrialException e) {
            return Optional.empty();
          }
        });
    mounted = false;
  }

  /** Fills the disk until this many bytes are left. */
  public void fill(long left) {
    long more = directory.toFile().getUsableSpace() - left;
    if (more <= 0) return;
    Path filler = directory.resolve(FILLER);
    long already = filler.toFile().length();
    try {
      Programs.run("fallocate", "-l", String.valueOf(already + more), filler.toString());
    } catch (TrialException e) {
      // Others write at the same time: the disk is then full, as intended.
    }
  }

  public void empty() {
    try {
      Files.deleteIfExists(directory.resolve(FILLER));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    try {
      unmount();
      Files.deleteIfExists(image);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
