/** The interoperability scenario of build/interop through other people's Java clients. */
@NullMarked
package dunlin.interop;

import org.jspecify.annotations.NullMarked;
