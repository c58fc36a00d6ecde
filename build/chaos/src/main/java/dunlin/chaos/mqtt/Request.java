package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import dunlin.chaos.Programs;
import dunlin.chaos.TrialException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The command line.
 *
 * @param only names of rows; empty for all
 * @param minutes how long a soak takes
 * @param storm the number of sessions of the row "storm"
 * @param pauseMillis the average pause of each publisher between two messages
 * @param sessionRanges the number of ranges that sessions are divided into
 * @param previous the distribution of an earlier version: a directory, or an archive of one
 * @param page the file that gets the table, between its marks
 */
public record Request(
    List<String> only, long seed, int rounds, int minutes, int storm, int pauseMillis, int sessionRanges, Path out, Path distribution, @Nullable Path previous,
    @Nullable Path programs, boolean isolated, boolean network, @Nullable Path page) {
  /** The minutes of a soak that fit into a journal. */
  private static final int TRIAL_MINUTES_MAX = 5;

  public Set<Need> offers() {
    var offers = EnumSet.noneOf(Need.class);
    if (previous != null) offers.add(Need.PREVIOUS);
    if (programs == null) return offers;
    offers.add(Need.FSYNC);
    offers.add(Need.CLOCK);
    if (isolated) offers.add(Need.DISK);
    if (network) offers.add(Need.NETWORK);
    return offers;
  }

  /** How many trials a row takes, each with an empty directory and a check of its own, so that the history of each fits into a journal. */
  public int trials(Row row) {
    return row.soaks() ? Math.ceilDiv(minutes, TRIAL_MINUTES_MAX) : Math.ceilDiv(rounds, row.trialRounds());
  }

  /** The part of one of a row's trials, in a directory of its own. */
  public Request trial(Row row, int number) {
    int roundsLeft = rounds - number * row.trialRounds();
    int minutesLeft = minutes - number * TRIAL_MINUTES_MAX;
    return new Request(
        only, seed, Math.min(row.trialRounds(), roundsLeft), Math.min(TRIAL_MINUTES_MAX, minutesLeft), storm, pauseMillis, sessionRanges,
        number == 0 ? out : out.resolve("trial-" + number), distribution, previous, programs, isolated, network, page);
  }

  /** The settings of a row's processes. */
  public Map<String, String> settings(Row row) {
    if (sessionRanges == 1) return row.settings();
    var all = new HashMap<>(row.settings());
    all.put(MqttCluster.SESSION_RANGES, String.valueOf(sessionRanges));
    return all;
  }

  /** The directory of the distribution with which the processes of a row begin. */
  public Path begins(Row row) {
    if (!row.needs().contains(Need.PREVIOUS)) return distribution;
    if (previous == null) throw new IllegalStateException("no earlier version is given");
    return Files.isDirectory(previous) ? previous : unpacked(previous, out.resolve("previous"));
  }

  private static Path unpacked(Path archive, Path to) {
    try {
      Files.createDirectories(to);
      Programs.run("tar", "-xzf", archive.toString(), "-C", to.toString(), "--strip-components=1");
      return to;
    } catch (IOException e) {
      throw new TrialException(archive + " cannot be unpacked", e);
    }
  }
}
