@NullMarked
package dunlin.load.remote;

import org.jspecify.annotations.NullMarked;
