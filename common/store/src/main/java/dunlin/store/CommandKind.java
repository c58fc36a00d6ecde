package dunlin.store;

/** What a command may use of its range's bounds: of the queue in front of the log, and of a disk that is nearly full. */
public enum CommandKind {
  /**
   * A command of a stream that its sender can hold back, such as a PUBLISH. Streams may fill three quarters of the
   * queue, so that other commands always find room. Needs space on disk.
   */
  FLOW,

  /** A single command, such as a SUBSCRIBE. May use the whole queue. Needs space on disk. */
  CALL,

  /**
   * A command that frees space or needs hardly any: an acknowledgement, a removal, an expiry, the end of a connection
   * or a reconnect. May use the whole queue, and is still accepted when the disk is low, as long as the reserve lasts.
   */
  RELEASE
}
