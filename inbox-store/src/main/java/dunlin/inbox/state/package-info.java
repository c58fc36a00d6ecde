/**
 * What a session range knows in memory: its sessions, groups, inboxes, deadlines and limits, all derived from its rows.
 * The thread that applies the range's commands owns it. Only {@link dunlin.inbox.range} changes it; what others read,
 * and from which thread, is said at each member.
 */
@NullMarked
package dunlin.inbox.state;

import org.jspecify.annotations.NullMarked;
