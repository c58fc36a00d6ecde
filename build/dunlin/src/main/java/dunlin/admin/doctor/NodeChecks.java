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

/** What the node keeps on disk, and the files that its settings name. */
final class NodeChecks {
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;
  private static final int PERCENT = 100;
  private static final int FREE_PERCENT = 10;
  private static final Duration EXPIRES_SOON = Duration.ofDays(14);
  private static final long CLOCK_MILLIS = 1_000;
  private static final int CLOCK_WORDS = 3;

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
    if (free < 2 * least || free * PERCENT < total * FREE_PERCENT) return Finding.warning(check, finding, remedy);
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

  /** @param name whose certificate it is */
  static Finding certificate(String name, Path file, Instant now) {
    String check = "certificate " + name;
    try (InputStream pem = Files.newInputStream(file)) {
      Instant end = Instant.MAX;
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        if (each instanceof X509Certificate certificate && certificate.getNotAfter().toInstant().isBefore(end)) end = certificate.getNotAfter().toInstant();
      }
      if (end.equals(Instant.MAX)) return unusable(check, file, "there is none in it");
      return expiry(check, end, now, file.toString());
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
