package dunlin.store;

/** What a command may take of its range's bounds: of the queue in front of the log, and of a disk that is nearly full. */
public enum CommandKind {
  /**
   * One of a stream that its sender can hold back, such as a PUBLISH. Takes three quarters of the queue and no more, so that a stream
   * never refuses anything else. Takes space on disk.
   */
  FLOW,

  /** One that stands alone, such as a SUBSCRIBE. May take the whole queue. Takes space on disk. */
  CALL,

  /**
   * One that frees space, or takes none to speak of: an acknowledgement, a removal, an expiry, the end of a connection or the return of
   * one. May take the whole queue, and is still taken when the disk is low, down to its reserve.
   */
  RELEASE
}
