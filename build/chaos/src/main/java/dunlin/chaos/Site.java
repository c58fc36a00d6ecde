package dunlin.chaos;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The environment of one node of a trial.
 *
 * @param data its data directory
 * @param log its standard error, over all its runs
 * @param prefix a command that runs its process in a network namespace, or nothing
 * @param environment variables that make its fsync or its clock controllable, or nothing
 * @param port the port of its network namespace, 0 when it has none
 * @param fsync controls its fsyncs, null when they are not controllable
 * @param clock moves its wall clock, null when it has the machine's
 * @param disk its own file system, null when it has none
 */
public record Site(
    String name,
    String host,
    int raftPort,
    int servicePort,
    Path data,
    Path log,
    List<String> prefix,
    Map<String, String> environment,
    int port,
    @Nullable FsyncFault fsync,
    @Nullable ClockFault clock,
    @Nullable LoopDisk disk) {

  public FsyncFault steeredFsync() {
    if (fsync == null) throw new IllegalStateException(name + " has an ordinary fsync");
    return fsync;
  }

  public ClockFault steeredClock() {
    if (clock == null) throw new IllegalStateException(name + " has the machine's clock");
    return clock;
  }

  public LoopDisk ownDisk() {
    if (disk == null) throw new IllegalStateException(name + " has no file system of its own");
    return disk;
  }
}
