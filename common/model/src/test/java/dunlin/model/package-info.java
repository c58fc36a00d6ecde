@NullMarked
package dunlin.model;

import org.jspecify.annotations.NullMarked;
