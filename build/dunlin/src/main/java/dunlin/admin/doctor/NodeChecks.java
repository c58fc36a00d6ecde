package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/** What the node keeps on disk, and the files that its settings name. */
final class NodeChecks {
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;
  private static final int FREE_PART = 10;
  private static final Duration EXPIRES_SOON = Duration.ofDays(14);
  private static final long CLOCK_MILLIS = 1_000;
  private static final int CLOCK_WORDS = 3;
  private static final long FILES_FEW = 10_000;
  private static final long FILES_NONE = 1_000;
  private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");
  private static final Set<String> OF_CONTAINER = Set.of("overlay", "aufs");
  private static final Set<String> OF_NETWORK = Set.of("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "lustre", "afs", "gfs2", "ocfs2");

  private NodeChecks() {}

  /** @param freeMin bytes below which the node stores nothing new; 0 for the default */
  static Finding disk(Path data, long freeMin) {
    String check = "disk";
    try {
      FileStore disk = Files.getFileStore(data);
      return disk(check, disk.getUsableSpace(), disk.getTotalSpace(), freeMin);
    } catch (IOException unreadable) {
      return Finding.wrong(check, "The disk of the data directory cannot be read: %s.".formatted(unreadable.getMessage()), "See that the data directory is there and mounted.");
    }
  }

  static Finding disk(String check, long free, long total, long freeMin) {
    long least = freeMin > 0 ? freeMin : Math.min(GIB, total / 20);
    String finding = "%d MiB of %d MiB are free on the disk of the data directory; below %d MiB the node stores nothing new.".formatted(free / MIB, total / MIB, least / MIB);
    String remedy = "Free or add space. bin/dunlin repair DATA list shows which sessions hold most.";
    if (free < least) return Finding.wrong(check, finding, remedy);
    // Without multiplication: network file systems may say that they have 8 EiB.
    if (free / 2 < least || free < total / FREE_PART) return Finding.warning(check, finding, remedy);
    return Finding.ok(check, finding);
  }

  static Finding fileSystem(Path data) {
    String check = "file-system";
    try {
      return fileSystem(Files.getFileStore(data).type());
    } catch (IOException unreadable) {
      return Finding.unknown(check, "The file system of the data directory cannot be read: %s.".formatted(unreadable.getMessage()));
    }
  }

  /** @param type as the operating system calls it, such as ext4 */
  static Finding fileSystem(String type) {
    String check = "file-system";
    if (IN_MEMORY.contains(type)) {
      return Finding.wrong(
          check, "The data directory is on %s, which is memory: sessions and messages are lost when the machine stops.".formatted(type),
          "Set dunlin.data-dir to a directory on a disk.");
    }
    if (OF_CONTAINER.contains(type)) {
      return Finding.warning(
          check, "The data directory is on %s, which is deleted with its container.".formatted(type), "Mount a volume there, as docs/deploying.md shows.");
    }
    if (OF_NETWORK.contains(type) || type.startsWith("fuse.")) {
      return Finding.warning(
          check, "The data directory is on %s, so each fsync waits for another machine or program, which may answer before the data is on disk.".formatted(type),
          "Set dunlin.data-dir to a directory on a local disk; a cluster has its copies on other nodes.");
    }
    return Finding.ok(check, "The data directory is on %s.".formatted(type));
  }

  static Finding freeFiles(Path data) {
    try {
      return freeFiles(FreeFiles.of(data));
    } catch (IOException unread) {
      return Finding.unknown("free-files", "How many more files the disk takes cannot be read: %s.".formatted(unread.getMessage()));
    }
  }

  static Finding freeFiles(FreeFiles files) {
    String check = "free-files";
    if (files.all() == 0) return Finding.ok(check, "The file system of the data directory has no fixed number of files.");
    String finding = "%d of %d files are free in the file system of the data directory.".formatted(files.free(), files.all());
    String remedy = "Delete small files that are not Dunlin's, or make a file system with more inodes: the store makes new files all the time.";
    if (files.free() < FILES_NONE) return Finding.wrong(check, finding, remedy);
    if (files.free() < FILES_FEW) return Finding.warning(check, finding, remedy);
    return Finding.ok(check, finding);
  }

  static Finding fsync(boolean on) {
    String check = "fsync";
    if (on) return Finding.ok(check, "Messages are forced to disk before they are acknowledged.");
    return Finding.warning(
        check, "Messages are acknowledged before they are forced to disk, so a loss of power may lose them.", "Remove dunlin.store.fsync=false from the settings.");
  }

  /** The file with the node's clock, of which the last word says how far the wall clock is ahead; none when there is no such file yet. */
  static Optional<Finding> clock(Path data) {
    String check = "clock";
    Path file = data.resolve("clock");
    if (!Files.exists(file)) return Optional.empty();
    String[] words;
    try {
      words = Files.readString(file, StandardCharsets.US_ASCII).strip().split(" ", -1);
    } catch (IOException unreadable) {
      words = new String[0];
    }
    if (words.length != CLOCK_WORDS || !words[2].matches("-?[0-9]{1,18}")) {
      return Optional.of(
          Finding.warning(check, "The node's time in %s cannot be read.".formatted(file), "Restart the node: it writes the file anew, and goes on by the wall clock."));
    }
    long ahead = Long.parseLong(words[2]);
    if (Math.abs(ahead) <= CLOCK_MILLIS) return Optional.of(Finding.ok(check, "The wall clock and the node's clock agree."));
    return Optional.of(
        Finding.warning(
            check,
            "The wall clock is %d s %s the clock by which sessions and messages expire; it was moved, or was wrong at a start.".formatted(Math.abs(ahead) / 1_000, ahead > 0 ? "ahead of" : "behind"),
            "Keep the machine's clock right by NTP. Expiry goes on by the node's own clock, so nothing need be done for the node."));
  }

  /** @param key the setting that names the file */
  static Finding certificate(String key, Path file, Instant now) {
    String check = "file " + key;
    try (InputStream pem = Files.newInputStream(file)) {
      Instant end = Instant.MAX;
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        if (each instanceof X509Certificate certificate && certificate.getNotAfter().toInstant().isBefore(end)) end = certificate.getNotAfter().toInstant();
      }
      if (end.equals(Instant.MAX)) return unusable(check, file, "there is none in it");
      return expiry(check, end, now, "in " + file);
    } catch (IOException | CertificateException unreadable) {
      return unusable(check, file, String.valueOf(unreadable.getMessage()));
    }
  }

  private static Finding unusable(String check, Path file, String reason) {
    return Finding.wrong(check, "The certificates in %s cannot be read: %s.".formatted(file, LogText.escaped(reason)), "Put a PEM file there that the node's user may read.");
  }

  static Finding expiry(String check, Instant end, Instant now, String where) {
    long days = Duration.between(now, end).toDays();
    String remedy = "Replace the files of the certificate; they are read again within seconds.";
    if (end.isBefore(now)) return Finding.wrong(check, "The certificate %s has expired at %s.".formatted(where, end), remedy);
    if (Duration.between(now, end).compareTo(EXPIRES_SOON) < 0) return Finding.warning(check, "The certificate %s expires in %d days, at %s.".formatted(where, days, end), remedy);
    return Finding.ok(check, "The certificate %s is valid for %d days.".formatted(where, days));
  }
}
