/**
 * Users, roles, bans and records of tenants that change while the broker runs. They are the rows of a range of their own, the kind {@code access}.
 *
 * <p>Who owns what: the range ({@code AccessRange}) has the rows and what follows from them, and its applying thread alone changes them. {@code AccessServer} serves it on the
 * node that leads it, and {@code RemoteAccess} is that server for other nodes of a cluster. Each node keeps a copy ({@code AccessCopy}), asks four times a second what has
 * changed, and makes a {@code Directory} of it, which does not change: clients are judged by that, without a call to another thread.
 *
 * <p>Bounds: {@code AccessBounds} of users, roles, bans and their bytes, in the range; so also of the copy. What is beyond is refused, with a sentence.
 *
 * <p>Failure: while the range has no leader, or cannot take a command, nothing can be changed, and copies stay as they are: clients are authenticated on. A frontend that has no
 * copy yet refuses clients with 0x88, and is not ready.
 */
@NullMarked
package dunlin.broker.users;

import org.jspecify.annotations.NullMarked;
