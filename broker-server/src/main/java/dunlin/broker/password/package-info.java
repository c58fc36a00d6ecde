/** Passwords and user names: how they are normalized, and what is kept instead of a password. Pure. */
@NullMarked
package dunlin.broker.password;

import org.jspecify.annotations.NullMarked;
