"""The report in a browser: opened from disk, without a network, by mouse and by keyboard alone."""

import shutil
from contextlib import contextmanager

import pytest

from probe.show.report.write import write_report
from tests.report_runs import rich_run, training

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra test)")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(not BROWSER, reason="no Chromium is installed (Debian: apt-get install chromium)")

EVIL = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&{{ 7*7 }}"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A report with every view."""
    folder = tmp_path_factory.mktemp("report")
    sources = [rich_run(folder / "one"), rich_run(folder / "two"), training(folder / "training")]
    return write_report(sources, folder / "report.html")


@contextmanager
def opened(browser, path, width=1280, **options):
    """A page with the network off; what it says on the console, or asks of the network, fails the test."""
    said = []
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: request.url.startswith("file://") or said.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert said == []


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_shows_and_nothing_is_wider_than_the_window(browser, whole, width):
    with opened(browser, whole, width) as page:
        for view in ("answer", "table1", "topics", "heads", "layers", "explain", "compare", "dynamics", "how"):
            box = page.locator(f"#{view}")
            assert box.is_visible() and box.bounding_box()["height"] > 60, view
        assert page.locator("#layers .block:visible svg").count() >= 3
        assert page.locator("#topic-map circle").count() == 3
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_search_finds_a_word_and_its_topic_opens_with_the_reasons(browser, whole):
    with opened(browser, whole) as page:
        page.select_option("#choose-theta", label="0.002")
        page.fill("#topic-search", "Arm")
        assert "1 of 3 topics" in page.inner_text("#topic-found")
        page.click("#topic-list button")
        detail = page.locator("#topic-detail")
        assert "Topic 1: war, army, peace" in detail.inner_text()
        assert "dropped: ambiguous, kept by topic 0" in detail.locator("tr", has_text="music").inner_text()
        assert "cosine: ratio 1.6, 33.3 % of the effect" in detail.inner_text()
        assert detail.locator("mark").first.inner_text() == "war"
        assert "CC BY-SA 4.0" in detail.inner_text()
        page.select_option("#choose-theta", label="0.0005")
        assert "not among the 15 likeliest" in detail.locator("tr", has_text="army").inner_text()
        page.fill("#topic-search", "no such word")
        assert page.locator("#topic-list button").count() == 0


def test_a_click_on_a_head_shows_its_pairs_and_its_attention_in_a_passage(browser, whole):
    with opened(browser, whole) as page:
        page.select_option("#choose-theta", label="0.002")
        page.get_by_role("gridcell", name="Layer 2, head 1:").click()
        detail = page.locator("#head-detail")
        assert "Layer 2, head 1" in detail.inner_text()
        assert "music → album" in detail.locator("table", has_text="Of one topic").inner_text()
        assert "music → war" in detail.locator("table", has_text="Of different topics").inner_text()
        passage = detail.locator(".passage")
        passage.get_by_role("button", name="music").click()
        # Attention of 50 is written to within its steps.
        assert detail.locator("ol li").first.inner_text().startswith("album 53.8")
        assert passage.get_by_role("button", name="album").get_attribute("title").endswith("same topic")
        assert detail.locator("ol li").count() == 3
        detail.locator("label", has_text="Attention to").locator("select").select_option("different")
        assert "album" not in detail.locator("ol").inner_text()
        assert passage.get_by_role("button", name="album").get_attribute("title") == "not drawn"
        detail.locator("label", has_text="Attention to").locator("select").select_option("same")
        assert detail.locator("ol li").all_inner_texts()[0].startswith("album") and detail.locator("ol li").count() == 1


def test_heads_are_coloured_by_what_is_chosen(browser, whole):
    with opened(browser, whole) as page:
        cell = page.get_by_role("gridcell").first

        def colour():
            return cell.evaluate("cell => getComputedStyle(cell).backgroundColor")

        seen = {}
        for metric in page.locator("#head-metric option").evaluate_all("all => all.map((one) => one.value)"):
            page.select_option("#head-metric", metric)
            seen[metric] = colour()
        assert list(seen) == ["ratio", "distance", "popularity", "q", "p"] and len(set(seen.values())) >= 3
        assert "previous token" in cell.get_attribute("aria-label")
        page.select_option("#head-metric", "q")
        dots = page.locator("[role=gridcell].clear").evaluate_all(
            "all => all.filter((one) => getComputedStyle(one).backgroundImage.includes('gradient')).length"
        )
        low = page.get_by_role("gridcell").evaluate_all(
            "all => all.filter((one) => Number(one.ariaLabel.match(/q-value ([\\d.e-]+)/)[1]) <= 0.05).length"
        )
        assert dots == low
        page.select_option("#head-metric", "ratio")
        page.hover("[role=gridcell] >> nth=5")
        assert page.inner_text("#head-readout").startswith("Layer 1, head 1: ratio 1.3")
        page.select_option("#head-weights", "random")
        assert "kept for pretrained weights alone" in page.inner_text("#head-detail")


def test_the_chosen_model_and_theta_decide_what_is_seen(browser, whole):
    with opened(browser, whole) as page:
        assert page.locator("#explain .block:visible").get_attribute("data-subject") == "0"
        page.select_option("#choose-subject", label="bert-base-uncased (run 2, two)")
        page.select_option("#choose-theta", label="0.0005")
        block = page.locator("#explain .block:visible")
        assert block.count() == 1
        assert (block.get_attribute("data-subject"), block.get_attribute("data-theta")) == ("1", "0")
        assert page.locator(".chosen-now:visible").first.inner_text() == "bert-base-uncased (run 2, two), theta 0.0005"


def test_runs_of_other_thetas_are_each_shown_at_their_own(browser, tmp_path, monkeypatch):
    folders = [rich_run(tmp_path / "one")]
    monkeypatch.setattr("tests.report_runs.THETAS", (0.01, 0.02, 0.04))
    folders.append(rich_run(tmp_path / "two", optional=False, passages=0))
    # A topic model that keeps nothing, and heads without a ratio, leave nothing to explore, and break nothing.
    header = (folders[1] / "topics.csv").read_text("utf-8").partition("\n")[0]
    (folders[1] / "topics.csv").write_text(f"{header}\n")
    with opened(browser, write_report(folders, tmp_path / "report.html")) as page:
        assert page.locator("#choose-theta option:disabled").all_inner_texts() == ["0.01", "0.02", "0.04"]
        page.select_option("#choose-subject", "1")
        assert page.locator("#choose-theta").evaluate("one => one.selectedOptions[0].textContent") == "0.02"
        assert page.locator("#layers .block:visible").count() == 1
        assert not page.locator("#explain .block:visible").count() or "0.02" in page.inner_text("#explain")
        assert page.inner_text("#topic-detail") == "No topic keeps a word at this theta."
        assert "keeps no passages" in page.inner_text("#head-detail")


def test_the_slider_goes_through_the_training(browser, whole):
    with opened(browser, whole) as page:
        box = page.locator(".training")
        assert box.locator("output").inner_text() == "100"
        box.locator("input").focus()
        page.keyboard.press("ArrowLeft")
        assert box.locator("output").inner_text() == "50"
        assert box.locator(".at-step td").first.inner_text() == "1.5 (1.4 to 1.6)"
        places = box.locator("line.cursor").evaluate_all("all => all.map((one) => Number(one.getAttribute('x1')))")
        assert len(places) == 2 and len(set(places)) == 1 and 300 < places[0] < 400
        page.keyboard.press("Home")
        assert box.locator(".at-step td").first.inner_text() == "none: not clear of zero"


def test_the_command_is_copied_with_one_click(browser, whole):
    with opened(browser, whole, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.click("button.copy >> nth=0")
        page.wait_for_function("document.getElementById('copied').textContent !== ''")
        assert page.inner_text("#copied") == "Copied."
        assert page.evaluate("navigator.clipboard.readText()").startswith("probe run --model bert-base-uncased")


def test_the_keyboard_alone_reaches_everything(browser, whole):
    with opened(browser, whole) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        stops = "a[href], button, select, input, summary, [tabindex='0']"
        wanted = page.evaluate(
            f"""[...document.querySelectorAll("{stops}")]
                .filter((one) => one.checkVisibility() && one.getAttribute('tabindex') !== '-1')
                .map((one, index) => (one.dataset.stop = String(index)))"""
        )
        reached = set()
        for _ in range(len(wanted) + 40):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.stop"))
        assert set(wanted) - reached == set()
        # Arrow keys go to what shares a stop.
        for items, key in (
            ("[role=gridcell]", "ArrowRight"),
            ("#topic-map circle", "ArrowDown"),
            (".passage button", "ArrowRight"),
        ):
            page.locator(f"{items}[tabindex='0']").focus()
            page.keyboard.press("Home")
            for _ in range(page.locator(items).count()):
                page.evaluate("document.activeElement.dataset.met = 'yes'")
                page.keyboard.press(key)
            assert page.locator(f"{items}:not([data-met])").count() == 0, items


def test_a_head_and_a_topic_open_by_keys(browser, whole):
    with opened(browser, whole) as page:
        page.locator("[role=gridcell][tabindex='0']").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert page.locator("#head-detail h3").first.inner_text() == "Layer 1, head 1"
        page.locator("#topic-map circle[tabindex='0']").focus()
        page.keyboard.press("Home")
        name = page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("Enter")
        assert page.locator("#topic-detail h3").inner_text().startswith(name.split(":")[0])
        page.locator(".term").first.focus()
        assert "A mean over pairs" in page.evaluate("getComputedStyle(document.activeElement, '::after').content")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("light", 390), ("dark", 1280), ("contrast", 390)])
def test_axe_finds_no_serious_fault(browser, whole, theme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed (extra test)")
    with opened(browser, whole, width) as page:
        page.select_option("#choose-theme", theme)
        if (theme, width) == ("light", 1280):  # what folds out is alike in all
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found = axe.Axe().run(page).response
        assert {one["id"] for one in found["passes"]} >= {"color-contrast", "label", "button-name"}
        serious = [
            (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_the_theme_is_the_systems_until_another_is_chosen(browser, whole):
    with opened(browser, whole, color_scheme="dark") as page:

        def background():
            return page.evaluate("getComputedStyle(document.body).backgroundColor")

        dark = background()
        page.select_option("#choose-theme", "light")
        assert (dark, background()) == ("rgb(20, 23, 26)", "rgb(255, 255, 255)")
        page.select_option("#choose-theme", "contrast")
        assert background() == "rgb(0, 0, 0)"


def test_it_prints_on_a4_without_switches(browser, whole):
    with opened(browser, whole, width=688) as page:  # A4 less the margins
        assert page.pdf(format="A4", prefer_css_page_size=True).startswith(b"%PDF")
        page.emulate_media(media="print")
        assert not page.locator(".toolbar").is_visible() and page.locator("#table1").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_without_scripts_tables_and_figures_are_there(browser, whole):
    with opened(browser, whole, java_script_enabled=False) as page:
        assert page.locator("#table1 .ratios").count() == 2 and not page.locator("#topics").is_visible()
        assert page.locator("#layers .block:visible").count() == 6


def test_hostile_titles_and_words_run_no_script_and_break_nothing(browser, tmp_path):
    words = [f"{EVIL}{number}" for number in range(6)] + ["ب" * 3000, "字" * 3000, "w" * 10_000]
    long = EVIL + "t" * 10_000
    folder = rich_run(tmp_path / "run", [long], words=words, corpus=long, license=EVIL)
    with opened(browser, write_report([folder], tmp_path / "report.html"), width=390) as page:
        page.select_option("#choose-theta", label="0.002")
        page.fill("#topic-search", "script")
        for button in page.locator("#topic-list button").all():
            button.click()
        page.get_by_role("gridcell").last.click()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0 and page.locator("script").count() == 2
        assert EVIL in page.inner_text("#topic-detail")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_words_of_any_script_stand_as_they_should(browser, whole):
    with opened(browser, whole) as page:
        page.select_option("#choose-theta", label="0.002")
        page.fill("#topic-search", "cat")
        page.click("#topic-list button")
        detail = page.locator("#topic-detail")
        assert detail.locator("tbody bdi").all_inner_texts() == ["مدرسة", "学校", "😀cat"]
        assert detail.locator("mark").first.inner_text() == "مدرسة"
        assert detail.locator(".passage").first.get_attribute("dir") == "auto"
        # The word after an emoji is where its span says: places are characters, not halves of them.
        assert page.locator("#head-detail .passage button").last.inner_text() == "مدرسة"


def test_three_models_of_the_papers_size_paint_within_a_second(browser, tmp_path):
    words = [f"word{number}" for number in range(100 * 59)]
    models = ["bert-base-uncased", "roberta-base", "albert-base-v2"]
    folder = rich_run(tmp_path / "run", models, words=words, topics=100, layers=12, heads=12, passages=8)
    path = write_report([folder], tmp_path / "report.html")
    paint = []
    # Another process may be in the way once.
    while len(paint) < 3 and min(paint, default=1000) >= 1000:
        with opened(browser, path) as page:
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
            paint.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            assert page.locator("[role=gridcell]").count() == 144 and page.locator("#topic-map circle").count() == 100
    assert min(paint) < 1000
