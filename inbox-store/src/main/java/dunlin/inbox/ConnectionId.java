package dunlin.inbox;

/**
 * One network connection, never used again for another.
 *
 * @param frontend the node id of the frontend that holds it
 * @param incarnation the life of that frontend: each start of its process begins a new one
 * @param number the frontend's own number for it
 */
public record ConnectionId(String frontend, long incarnation, long number) {}
