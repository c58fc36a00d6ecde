/**
 * What a client may do: rules, the policies that are made of them, and the file that they stand in. Pure: no thread, no
 * connection and no clock. Who is asked for a policy, and when, is decided in {@code dunlin.broker.auth}.
 */
@NullMarked
package dunlin.broker.access;

import org.jspecify.annotations.NullMarked;
