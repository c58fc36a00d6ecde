package dunlin.chaos;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where one node of a trial lives.
 *
 * @param data its data directory
 * @param log what it says on standard error, over all its lives
 * @param prefix the program that puts its process into a network of its own, or nothing
 * @param environment what makes its disk steerable, or nothing
 * @param port of its network, 0 when it has none of its own
 * @param fsync steers what an fsync of it does, null where it cannot be
 * @param disk the file system that it has for itself, null where it has none
 */
record Site(
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
    @Nullable LoopDisk disk) {

  FsyncFault steeredFsync() {
    if (fsync == null) throw new IllegalStateException(name + " has an ordinary fsync");
    return fsync;
  }

  LoopDisk ownDisk() {
    if (disk == null) throw new IllegalStateException(name + " has no file system of its own");
    return disk;
  }
}
