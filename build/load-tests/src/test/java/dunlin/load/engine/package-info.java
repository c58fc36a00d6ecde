@NullMarked
package dunlin.load.engine;

import org.jspecify.annotations.NullMarked;
