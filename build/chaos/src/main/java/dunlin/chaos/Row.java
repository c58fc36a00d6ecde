package dunlin.chaos;

/** A write in a replica's final rows. */
record Row(long place, long id, long seen) {}
