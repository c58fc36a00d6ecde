# Finds a JDK. Read by bin/dunlin, build/run and .ci/run, with the "." of any POSIX shell; defines functions only.

# dunlin_java_feature <java home>: prints the feature release of the JDK there, such as 25, or nothing.
dunlin_java_feature() {
  [ -x "$1/bin/java" ] || return 0
  if [ -r "$1/release" ]; then
    dunlin_version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
  else
    dunlin_version=$("$1/bin/java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  fi
  echo "$dunlin_version"
}

# dunlin_java_fits <java home> run|build: whether it can run Dunlin (25 or later), or build it (25, with a compiler).
dunlin_java_fits() {
  dunlin_feature=$(dunlin_java_feature "$1")
  [ -n "$dunlin_feature" ] || return 1
  case $2 in
    build) [ "$dunlin_feature" -eq 25 ] && [ -x "$1/bin/javac" ] ;;
    *) [ "$dunlin_feature" -ge 25 ] ;;
  esac
}

# dunlin_find_java run|build: sets DUNLIN_FOUND_JAVA_HOME, or says in one sentence what is missing and returns 1.
dunlin_find_java() {
  DUNLIN_FOUND_JAVA_HOME=
  if [ -n "${DUNLIN_JAVA_HOME:-}" ]; then
    if dunlin_java_fits "$DUNLIN_JAVA_HOME" "$1"; then
      DUNLIN_FOUND_JAVA_HOME=$DUNLIN_JAVA_HOME
      return 0
    fi
    echo "Dunlin needs a JDK 25, and there is none at DUNLIN_JAVA_HOME ($DUNLIN_JAVA_HOME)." >&2
    return 1
  fi
  for dunlin_home in \
    "${JAVA_HOME:-}" \
    /usr/lib/jvm/* \
    "${HOME:-}"/.sdkman/candidates/java/* \
    "${HOME:-}"/.jdks/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home \
    "$(dunlin_java_on_path)"; do
    if [ -n "$dunlin_home" ] && dunlin_java_fits "$dunlin_home" "$1"; then
      DUNLIN_FOUND_JAVA_HOME=$dunlin_home
      return 0
    fi
  done
  echo "Dunlin needs a JDK 25, and none was found: install one, for example Eclipse Temurin 25, or set DUNLIN_JAVA_HOME to it." >&2
  return 1
}

# dunlin_java_on_path: prints the home of the "java" on PATH, through all links, or nothing.
dunlin_java_on_path() {
  dunlin_java=$(command -v java) || return 0
  dunlin_java=$(readlink -f "$dunlin_java" 2>/dev/null) || return 0
  dirname "$(dirname "$dunlin_java")"
}
