"""Pictures of a report for docs/images, in every theme, at 1280 and 390 pixels. Needs Chromium, playwright and Pillow.

python benchmarks/pictures.py results/minilm-wikipedia-sample
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from probe.show.report.write import write_report

OUT = Path(__file__).parent.parent / "docs" / "images"
# What each theme's picture shows, so that three pictures show three parts.
SHOWN = {"light": "main", "dark": "topics", "contrast": "heads"}
SIZES = {1280: 900, 390: 844}
COLOURS = 64


def main() -> None:
    """Draw all pictures of the folders that are named."""
    OUT.mkdir(parents=True, exist_ok=True)
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page_file = write_report(sys.argv[1:], Path(folder) / "report.html")
        browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for width, height in SIZES.items():
            for theme, part in SHOWN.items():
                context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
                page = context.new_page()
                page.goto(page_file.as_uri())
                page.select_option("#choose-theme", theme)
                page.add_style_tag(content=".toolbar { position: static !important; } html { scroll-padding-top: 0; }")
                if part != "main":
                    page.locator(f"#{part}").evaluate("part => part.scrollIntoView()")
                picture = Image.open(io.BytesIO(page.screenshot()))
                picture.convert("RGB").quantize(COLOURS).save(OUT / f"report-{theme}-{width}.png", optimize=True)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
