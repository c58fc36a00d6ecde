package dunlin.broker.users;

/**
 * A row with its versions, which are those of the range: each change of any row gets the next one.
 *
 * @param version when it was changed last
 * @param since when it was created
 */
public record AccessRow(long version, long since, AccessEntry entry) {}
