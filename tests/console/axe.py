"""axe-core, where it has been brought: `npm pack axe-core` at test time, nothing of it is in the tree. The variable BELAY_AXE names its axe.min.js,
else it is looked for in build/axe-core."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES_PASSED_MIN = 10  # of some 60; those that concern nothing on the page do not count
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def _file():
    place = pathlib.Path(os.environ.get("BELAY_AXE") or ROOT / "build/axe-core/axe.min.js")
    return place if place.is_file() else None


def there():
    return _file() is not None


def problems(page):
    """Violations of WCAG 2.1 A and AA, as lines of text; none where there is no axe-core."""
    place = _file()
    if place is None:
        return []
    if not page.run("Boolean(globalThis.axe)"):
        page.run(place.read_text() + "; 0")
    found = page.run(f"axe.run(document, {{ runOnly: {RULES} }}).then((r) => ({{ passed: r.passes.length, violations: r.violations.map((v) => `${{v.id}}: ${{v.help}} (${{v.nodes.length}}, such as ${{v.nodes[0].html.slice(0, 160)}})`) }}))")
    few = [] if found["passed"] >= RULES_PASSED_MIN else [f"only {found['passed']} rules were looked at"]
    return few + found["violations"]
