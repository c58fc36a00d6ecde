package dunlin.chaos;

/** A write as a replica has it in the end. */
record Row(long place, long id, long seen) {}
