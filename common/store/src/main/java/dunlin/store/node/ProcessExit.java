package dunlin.store.node;

import org.apache.ratis.util.ExitUtils;

/** Keeps Ratis from ending the process, which may be an application that a broker is embedded in. */
final class ProcessExit {
  /*
   * Ratis calls System.exit in one place, when its port cannot be opened. Once that is forbidden, it throws an
   * ExitException there. The setting is Ratis' own and holds for the whole process.
   */
  private ProcessExit() {}

  /** To be called before a Raft server is built. May be called again. */
  static void forbid() {
    var handler = Thread.getDefaultUncaughtExceptionHandler();
    ExitUtils.disableSystemExit();
    // When its class is loaded, Ratis takes the uncaught exceptions of all threads of the process, to end it.
    ExitUtils.setTerminateOnUncaughtException(false);
    Thread.setDefaultUncaughtExceptionHandler(handler);
  }
}
