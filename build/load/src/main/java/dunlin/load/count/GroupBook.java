package dunlin.load.count;

/** What the members of a shared group have got in this process. Members on several event loops enter what they get. */
public sealed interface GroupBook permits SharedBook, SplitBook {
  /** Says that a member has subscribed; the group must get what is sent from a step on. */
  void join(int step);

  /** The first step whose messages the group must get. */
  int since();

  Arrival receive(long key, long sequence);
}
