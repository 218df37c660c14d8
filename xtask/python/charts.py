"""Shows the charts of `nnx runs plot` in a browser and looks for what is cut off or overlaps.

Arguments: the command, the fixtures, the folder for pictures, and the browser if it is not
Playwright's own. Called by `cargo xtask charts`.
"""

import math
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    sys.exit(
        f"{sys.executable} has no Playwright: install it there (`pip install playwright`), or name a "
        "Python that has it behind `--python`"
    )

# Phone, small tablet, desk.
WIDTHS = [390, 700, 1280]

# The texts that their drawing cuts off, and those that overlap.
LOOK = """() => {
    const seen = [...document.querySelectorAll('svg text')]
        .map(t => [t.textContent, t.getBoundingClientRect(), t.ownerSVGElement])
        .filter(t => t[1].width > 0);
    const wrong = [];
    for (const [text, box, svg] of seen) {
        const all = svg.getBoundingClientRect();
        if (box.left < all.left - 0.5 || box.right > all.right + 0.5
            || box.top < all.top - 0.5 || box.bottom > all.bottom + 0.5)
            wrong.push(`cut off: ${text}`);
        for (const [other, theirs, drawing] of seen) {
            if (drawing === svg && theirs !== box && box.left < theirs.right - 1
                && theirs.left < box.right - 1 && box.top < theirs.bottom - 3
                && theirs.top < box.bottom - 3)
                wrong.push(`overlap: ${text} | ${other}`);
        }
        if (svg.classList.contains('wide') || svg.classList.contains('narrow')) {
            const size = parseFloat(getComputedStyle(svg.querySelector('text')).fontSize)
                * all.width / svg.viewBox.baseVal.width;
            if (size < 10.5) wrong.push(`small: ${text} is ${size} pixels`);
        }
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push('wider than the window');
    for (const box of document.querySelectorAll('.scroll'))
        if (box.scrollWidth > box.clientWidth + 1)
            wrong.push(`wider than its place: ${box.textContent.replace(/\\s+/g, ' ').trim().slice(0, 60)}`);
    return wrong;
}"""


def curve(random, n, height, floor, noise):
    rows = []
    for epoch in range(n):
        train = floor + height * math.exp(-epoch * 4 / n) + random.gauss(0, noise)
        val = train + 0.1 + 0.06 * height * epoch / n + abs(random.gauss(0, noise))
        rows.append([epoch, train, min(1, max(0, train / 3)), val, min(1, max(0, val / 3))])
    return rows


def make_runs(fixtures, root):
    """Runs that are hard to draw; their configuration is a fixture's."""
    source = next((fixtures / "nnx-0.4.1/run/runs").glob("499*/run.yaml"))
    draw = random.Random(3)

    def run(name, rows):
        folder = root / "runs" / name
        folder.mkdir(parents=True)
        shutil.copy(source, folder / "run.yaml")
        lines = [",lr,iter_idx,epoch_idx,batch_idx,train_edp.loss,train_edp.error,val_edp.loss,val_edp.error"]
        for number, (epoch, *values) in enumerate(rows):
            cells = ["" if value is None else repr(value) for value in values]
            lines.append(f"{number},0.01,{number},{epoch},0," + ",".join(cells))
        (folder / "idps.csv").write_text("\n".join(lines) + "\n")

    for number in range(8):
        run(f"{number}bcdef0123456789" * 2, curve(draw, 60, 2 - number * 0.15, 0.3 + number * 0.1, 0.02))
    rows = [row for row in curve(draw, 20, 2, 0.3, 0.02) if row[0] not in (5, 6, 13)]
    rows[8][1], rows[8][3] = math.inf, None
    rows[9][2:] = [0.0, math.nan, 0.0]
    run("gaps", rows)
    every = curve(draw, 40, 2, 0.3, 0.02)
    run("every5", [row if row[0] % 5 == 4 else [*row[:3], None, None] for row in every])
    run("long", curve(draw, 20000, 2, 1e-3, 5e-4))
    run("point", [[12, 0.5, 0.25, 0.75, 0.5]])
    run("empty", [])
    run("flat", [[epoch, 0.0, 1.0, 0.0, 1.0] for epoch in range(5)])
    run("losses", [[epoch, 3.0 - epoch, None, 3.5 - epoch, None] for epoch in range(3)])
    limit = sys.float_info.max
    run("limits", [[0, -limit, 0.5, 1e308, 0.1], [1, limit, 0.5, -1e308, 0.1], [2, 5e-324, None, limit, 0.4]])
    run("strays", [[0, 1.0, 0.5, 1.2, 0.5], [0.5, 0.9, 0.5, 1.1, 0.5], ["nan", 0.9, 0.5, 1.1, 0.5], [1, 0.8, 0.4, 1.0, 0.4]])
    run("huge", [[0, 1e300, 0.5, 2e305, 0.1], [1, 1e12, 0.5, 1e-300, 0.1], [2**63 - 2, 5.0, 1.0, 3.0, 0.5]])


def main():
    command, fixtures, folder = (Path(word) for word in sys.argv[1:4])
    browser = sys.argv[4] if len(sys.argv) > 4 else None
    with tempfile.TemporaryDirectory() as root, sync_playwright() as playwright:
        root = Path(root)
        make_runs(fixtures, root)
        charts = {
            "early": (fixtures / "nnx-0.2.3/run", ["8c", "b0"]),
            "one": (fixtures / "nnx-0.4.1/run", ["499"]),
            "two": (fixtures / "nnx-0.4.1/run", ["499", "882"]),
            "eight": (root, [str(number) for number in range(8)]),
            "gaps": (root, ["gaps", "every5"]),
            "odd": (root, ["point", "empty", "huge", "flat"]),
            "long": (root, ["long"]),
            "empty": (root, ["empty"]),
            "losses": (root, ["losses"]),
            "limits": (root, ["limits", "strays"]),
            "monitored": (fixtures / "nnx-0.4.1/monitored", ["c6d2", "31be", "d7e6"]),
        }
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        looks = 0
        for name, (runs, ids) in charts.items():
            for scale in ([], ["--log"]):
                stem = name + "".join(scale)
                for extension in ("html", "svg", "png"):
                    target = folder / f"{stem}.{extension}"
                    words = ["runs", "plot", *ids, "--root", runs, "-o", target, "--overwrite", *scale]
                    subprocess.run([command, *words], check=True, stdout=subprocess.DEVNULL)
                for width in WIDTHS:
                    for scheme in ("light", "dark"):
                        looks += 1
                        look(chromium, folder, f"{stem}.html", width, scheme)
                for scheme in ("light", "dark"):
                    looks += 1
                    look(chromium, folder, f"{stem}.svg", 1280, scheme)
        chromium.close()
        print(f"{looks} looks at {2 * len(charts)} charts, pictures in {folder}")


def look(chromium, folder, name, width, scheme):
    context = chromium.new_context(
        viewport={"width": width, "height": 700},
        color_scheme=scheme,
        device_scale_factor=2 if width < 500 else 1,
    )
    page = context.new_page()
    requests, said = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto((folder / name).as_uri())
    is_page = name.endswith(".html")
    wrong = [*page.evaluate(LOOK), *said, *requests[1:]] if is_page else page.evaluate(LOOK)
    for words in wrong:
        print(f"FAIL {name} at {width}, {scheme}: {words}")
    if not is_page:
        # Chromium takes no picture of a drawing alone, but of a page with it.
        page.goto("about:blank")
        text = (folder / name).read_text(encoding="utf-8")
        page.set_content(f"<body style='margin:0'>{text}</body>")
    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
    context.close()


main()
