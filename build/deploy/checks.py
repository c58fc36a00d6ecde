"""The checks of build/deploy/check, which prepares the tools for them."""

import re
import sys
import time

from chart_checks import CHART, helm
from checking import HERE, ROOT, expect, finding, findings, skipped
from docker_checks import compose, dockerfile
from sizing import CONNECTIONS, Assumed, parts, table, unfounded
from systemd_checks import started_by_the_template, started_by_the_unit, systemd

LAUNCHER = {"DUNLIN_JVM_OPTS", "DUNLIN_JAVA_HOME", "DUNLIN_BENCH_JVM_OPTS", "DUNLIN_HOME"}


def settings_exist():
    rows = re.findall(r"^\| `(dunlin\.[^`]+)` \|.*\| `(DUNLIN_[^`]+)` \|$", (ROOT / "docs/configuration.md").read_text(), re.M)
    keys = [re.compile(re.escape(key).replace("<name>", "[a-z0-9-]+") + "$") for key, _ in rows]
    variables = [re.compile(re.escape(name).replace("<NAME>", "[A-Z0-9]+") + "$") for _, name in rows]
    groups = {".".join(key.split(".")[:count]) for key, _ in rows for count in range(2, key.count(".") + 1)}
    expect(len(rows) > 100, "docs/configuration.md has no table of settings any more")
    named = 0
    for file in sorted(HERE.rglob("*")):
        if not file.is_file() or "target" in file.parts or file.suffix == ".py" or file.name == "check":
            continue
        text = re.sub(r'(define|include) "[^"]+"', "", file.read_text())  # templates of the chart have such names, too
        for name in re.findall(r"\bDUNLIN_[A-Z0-9_]+", text):
            named += 1
            expect(name in LAUNCHER or any(each.match(name) for each in variables), f"{file.name}: there is no setting {name}")
        for key in re.findall(r"(?<![\w/.])dunlin\.[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*", text):
            if key.split(".")[1] in {"conf", "service", "sysusers"}:
                continue  # files
            named += 1
            expect(key in groups or any(each.match(key) for each in keys), f"{file.name}: there is no setting {key}")
    expect(named > 20, "the files name no settings any more")
    version = re.search(r"<version>([^<]+)</version>", (ROOT / "pom.xml").read_text()).group(1)
    expect(f"\nappVersion: {version}\n" in (CHART / "Chart.yaml").read_text(), f"Chart.yaml has another appVersion than {version}, the version in pom.xml")


def sizing():
    """The page on sizing says what its script calculates, from figures that are still in the documents."""
    for figure in unfounded():
        finding(f"sizing.py: {figure.document} does not say {figure.words!r} any more")
    expect(table(Assumed()) in (ROOT / "docs/sizing.md").read_text(), "docs/sizing.md: its table is not the one of sizing.py")
    # By hand: a hundred million clients with two messages a minute, and 63,411 writes a second.
    needs = {part.name: (part.needs(CONNECTIONS[-1]), part.most) for part in parts(Assumed(messages=2))}
    writes, enough = needs["sessions: writes a second to the one range"]
    expect(writes == "3,333,333" and round(enough) == 1_902_330, f"sizing.py: {writes} writes a second, enough for {enough} clients")
    try:
        Assumed(cores=0)
        finding("sizing.py takes machines without a core")
    except ValueError:
        pass


def main():
    begun = time.monotonic()
    checks = [
        ("settings", settings_exist),
        ("sizing", sizing),
        ("systemd", systemd),
        ("started by dunlin.service", started_by_the_unit),
        ("started by dunlin@.service", started_by_the_template),
        ("Dockerfile", dockerfile),
        ("compose files", compose),
        ("chart", helm),
    ]
    for name, check in checks:
        print(f"deploy: {name}", flush=True)
        started = time.monotonic()
        try:
            check()
        except Exception as failure:  # a broken check is a finding, and the others go on
            finding(f"{name}: {failure!r}")
        print(f"  {time.monotonic() - started:.0f} s", flush=True)
    print(f"deploy: {len(findings)} wrong, {len(skipped)} skipped, {time.monotonic() - begun:.0f} s")
    for each in skipped:
        print(f"  skipped: {each}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
