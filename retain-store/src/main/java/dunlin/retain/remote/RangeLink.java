package dunlin.retain.remote;

import java.util.UUID;

/** The link to the leader of a range, and the range's pages. */
record RangeLink(UUID range, RemoteRetain calls, PageRoom.Line pages) {}
