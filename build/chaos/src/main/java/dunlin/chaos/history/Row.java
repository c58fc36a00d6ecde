package dunlin.chaos.history;

/** A write in a replica's final rows. */
public record Row(long place, long id, long seen) {}
