/** Private keys and certificates in files, as servers have them. Pure: what is read comes from the caller. */
@NullMarked
package dunlin.broker.keys;

import org.jspecify.annotations.NullMarked;
